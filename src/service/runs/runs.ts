import type { ServedRun } from "../../contract/run.ts";
import type { EnterRequest } from "../admission/waiter.ts";

/** The active runs, as admission and the routes use them: those of this process (`ActiveRuns`), or of runners elsewhere. */
export interface Runs {
  /** The number of runs that this process works on. */
  readonly count: number;
  /** Where this process has the runs, what it keeps of them until they begin. On many machines the rows say all. */
  readonly granted?: GrantedRuns;
  /** Prepares for a run that may be granted soon. @param environment see `RunnerJob`. */
  prepare(environment: readonly string[] | undefined): void;
  /** Begins a granted run, once the first of its callers has its reply. Never throws. */
  launch(run: ServedRun): void;
  /** Removes a granted run whose caller has left before its reply, unless another caller gets it too. */
  withdraw(runId: string): void;
  /** Begins to end a run, which keeps its slot until its processes are gone. The first reason to stop stays. */
  cancel(orgId: string, runId: string, by: string): Promise<void>;
  /** The run as its row has it, or as it is known to be where the row is behind. */
  upToDate<R extends ServedRun>(run: R): R;
  /** For the service's shutdown. */
  stopAll(): Promise<void>;
}

/** The runs that were granted and whose callers have no reply yet, as the process has them that is about to run them. */
export interface GrantedRuns {
  /** Adds a run that is being granted, before its row is committed. Whoever gets it has to `launch` or `withdraw` it. */
  add(run: ServedRun, request: EnterRequest): void;
  /** One more caller gets the run as its reply. */
  join(runId: string): void;
  /** Removes a run whose row was never committed. */
  remove(runId: string): void;
  /** Whether a run is being withdrawn. Its row may still be there. */
  isWithdrawn(runId: string): boolean;
}
