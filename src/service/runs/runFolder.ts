import { join } from "node:path";

/** Where a run's log and artifacts lie in the service's data folder; made when there is something to put there. */
export interface RunFolder {
  readonly path: string;
  /** A JSON line an entry, see `contract/log.ts`. */
  readonly log: string;
  readonly artifacts: string;
}

/** @param runId one of the store's own, so that it is a plain name. */
export function runFolder(dataFolder: string, runId: string): RunFolder {
  const path = join(runsFolder(dataFolder), runId);
  return { path, log: join(path, "log.ndjson"), artifacts: join(path, "artifacts") };
}

/** The folder of all runs' folders, each named by its run's id. */
export function runsFolder(dataFolder: string): string {
  return join(dataFolder, "runs");
}
