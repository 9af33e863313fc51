import { t } from "@vscode/l10n";
import type { Clock } from "../../client/clock.ts";
import type { ServiceClient } from "../../client/http/serviceClient.ts";
import { readArtifact } from "../../client/readArtifact.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { ReadableFile } from "./readOnlyFiles.ts";
import { keptFileOf, type UriParts } from "./runUri.ts";

export interface KeptFilesDeps {
  readonly connect: (signal: AbortSignal) => Promise<ServiceClient>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * A file that a step kept, as the run's own list tells of it: its bytes come from the service, with the key in the header
 * and in no address.
 * @throws PipelineError as `ServiceClient.run` and `readArtifact`.
 */
export async function keptFile(uri: UriParts, deps: KeptFilesDeps): Promise<ReadableFile | undefined> {
  const named = keptFileOf(uri);
  if (named === undefined) return undefined;
  const { connect, signal } = deps;
  const client = await connect(signal);
  const run = await client.run(named.runId, signal);
  const kept = run.artifacts?.find(({ file }) => file === named.file);
  if (kept === undefined) {
    throw new PipelineError("not-found", t("The run has no such file."), {
      next: t("It may have been removed: the service keeps files for some days."),
    });
  }
  return {
    changedAt: Date.parse(kept.at),
    size: kept.bytes,
    read: () => readArtifact(client, named.runId, named.file, signal),
  };
}
