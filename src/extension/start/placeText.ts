import { t } from "@vscode/l10n";
import type { ServiceClient } from "../../client/http/serviceClient.ts";
import { placeHolders } from "../../client/placeHolders.ts";
import { nameOf, type Run } from "../../contract/run.ts";
import type { Session } from "../session.ts";

/** The runs that hold the org's places, and the id of the asking key, which is the `actor` of its own runs. */
export interface Holding {
  readonly runs: readonly Run[];
  readonly me: string;
}

/** Who holds the places, as the service's events have told it. @returns undefined where it has no events. */
export function toldHolding({ state }: Pick<Session, "state">): Holding | undefined {
  const { value } = state;
  if (value.kind !== "live" || value.inWork === undefined) return undefined;
  return { runs: value.inWork, me: value.org.actor };
}

/** The same, asked for now. @returns undefined where the service doesn't tell. @throws only the signal's reason. */
export async function askedHolding(client: ServiceClient, signal: AbortSignal): Promise<Holding | undefined> {
  const [runs, org] = await Promise.all([
    placeHolders(client, signal),
    client.org(signal).catch(() => undefined),
  ]);
  signal.throwIfAborted();
  return runs === undefined || org === undefined ? undefined : { runs, me: org.actor };
}

/** `long (your run)`, of several `long (your run), nightly (by key_2)`; undefined for none. */
export function holderText({ runs, me }: Holding): string | undefined {
  if (runs.length === 0) return undefined;
  return runs
    .map((run) => {
      if (run.actor === undefined) return nameOf(run);
      return run.actor === me ? t("{0} (your run)", nameOf(run)) : t("{0} (by {1})", nameOf(run), run.actor);
    })
    .join(", ");
}
