import { join } from "node:path";

/** Where a run's log and artifacts lie in the service's data folder; made when there is something to put there. */
export interface RunFolder {
  readonly path: string;
  readonly artifacts: string;
}

/** @param runId one of the store's own, so that it is a plain name. */
export function runFolder(dataFolder: string, runId: string): RunFolder {
  const path = join(dataFolder, "runs", runId);
  return { path, artifacts: join(path, "artifacts") };
}
