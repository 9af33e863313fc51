import { t } from "@vscode/l10n";
import type { WorkspaceFolder } from "vscode";
import type { StartWhen } from "../../client/embedded/startEmbedded.ts";
import { ServiceClient, type ServiceClientOptions } from "../../client/service/client.ts";
import type { Fetch } from "../../client/service/request.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { Clock } from "../../machine/clock.ts";
import { originOf, type Target } from "../keys/serviceChoice.ts";

export interface ClientOfDeps {
  /** Finds or starts this machine's own service. */
  readonly embedded: (
    signal: AbortSignal,
    start: StartWhen,
  ) => Promise<Pick<ServiceClientOptions, "baseUrl" | "apiKey" | "keyOfNow" | "environment" | "fetch">>;
  readonly clock: Clock;
  /** By default the editor's own, with its proxy settings, except for this machine's own service. */
  readonly fetch?: Fetch;
}

/**
 * A client of a service.
 * @param key the entered key, if any; this machine's service is found in the meantime.
 * @throws PipelineError that names what is missing: a key, a valid base URL, or a service that answers.
 */
export async function clientOf(
  where: Target,
  key: string | undefined | PromiseLike<string | undefined>,
  { embedded, clock, fetch }: ClientOfDeps,
  signal: AbortSignal,
  start: StartWhen = "needed",
): Promise<ServiceClient> {
  if (where.kind === "invalid") throw where.error;
  // The editor trusts the system's certificates (`http.systemCertificates`) and ignores environment variables.
  const trustNext = t(
    "If you trust it, add its authority to this machine's certificates, then reload the window.",
  );
  const others = fetch === undefined ? { clock, trustNext } : { clock, trustNext, fetch };
  if (where.kind === "embedded") {
    const [entered, own] = await Promise.all([key, embedded(signal, start)]);
    const { baseUrl, apiKey, environment, keyOfNow, fetch: ownFetch } = own;
    const its = { baseUrl, ...(ownFetch === undefined ? {} : { fetch: ownFetch }), ...others };
    if (entered !== undefined) return new ServiceClient({ ...its, apiKey: entered });
    return new ServiceClient({ ...its, apiKey, environment, keyOfNow });
  }
  const entered = await key;
  if (entered === undefined) throw missingKey(originOf(where));
  return new ServiceClient({ baseUrl: where.baseUrl, apiKey: entered, ...others });
}

function missingKey(origin: string): PipelineError {
  return new PipelineError("unauthorized", t("There is no API key for {0}.", origin), {
    next: t("Set one with “Set API Key…”."),
  });
}

export interface ServiceInUseDeps {
  readonly target: () => Target;
  /** What knows the entered key in use for an origin. */
  readonly keys: { keyFor(origin: string): Thenable<{ readonly key: string } | undefined> };
}

export type ServiceInUse = Awaited<ReturnType<typeof findServiceInUse>>;

/** The service to use now, and the entered key, if any. */
export async function findServiceInUse({ target, keys }: ServiceInUseDeps) {
  const where = target();
  // The same text for the same service.
  const address = where.kind === "remote" ? where.baseUrl.href : where.kind;
  const key = where.kind === "invalid" ? undefined : (await keys.keyFor(originOf(where)))?.key;
  return { where, address, key };
}

/**
 * Refuses this machine's own service to a window whose folders are all elsewhere.
 * @throws PipelineError `not-supported` for such a window.
 */
export function refuseVirtual(folders: readonly Pick<WorkspaceFolder, "uri">[] | undefined): void {
  if (folders === undefined || folders.length === 0) return;
  if (folders.some(({ uri }) => uri.scheme === "file")) return;
  throw new PipelineError(
    "not-supported",
    t("The files of this workspace are not on this machine, so its own service can't run their pipelines."),
    { next: t("Set pipelineRuns.baseUrl to a service that knows them, or open a folder of this machine.") },
  );
}
