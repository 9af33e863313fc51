import type { Commit } from "../../contract/changes.ts";
import type { ServedRun } from "../../contract/run.ts";
import type { RunnerJob } from "../../runner/launch/protocol.ts";

/** What a run does: by processes of this machine, or by a runner on another one. */
export type Work = LocalWork | RemoteWork;

/** What a run's processes on this machine do, and in which folder. Not in the database. */
export interface LocalWork
  extends Pick<RunnerJob, "root" | "pipeline" | "source" | "inputs" | "environment" | "fromStep"> {
  readonly project: string;
}

/** What a runner on another machine does. */
interface RemoteWork {
  /** A `RunWork` as JSON. */
  readonly definition: string;
  /** What the project's folder was at. */
  readonly commit?: Commit;
}

/** Within so many milliseconds a double click, or a request that is sent again, is one cancel. */
export const sameCancel = 500;

/** The active runs, as admission and the routes use them. */
export interface Runs {
  /** The number of runs that this process works on. */
  readonly count: number;
  /** Begins a granted run, once the first of its callers has its reply. Never throws. */
  launch(run: ServedRun): void;
  /** Removes a granted run whose caller has left before its reply, unless another caller gets it too. */
  withdraw(runId: string): void;
  /** Begins to end a run, which keeps its slot until its processes are gone. The first reason to stop stays. A cancel behind another ends what cleans up. */
  cancel(orgId: string, runId: string, by: string): Promise<void>;
  /** The run as its row has it, or as it is known to be where the row is behind. */
  upToDate<R extends ServedRun>(run: R): R;
  /** For the service's shutdown. */
  stopAll(): Promise<void>;
}
