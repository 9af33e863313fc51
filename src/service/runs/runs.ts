import { timeLimit } from "../../contract/limits.ts";
import { type Commit, cancelledBy, type ServedRun } from "../../contract/run.ts";
import type { RunnerEnd, StopReason } from "../../contract/runners.ts";
import type { RunStatus } from "../../contract/runStatus.ts";
import { quoted } from "../../pipeline/mistakes/problem.ts";
import type { RunnerJob } from "../../runner/launch/protocol.ts";
import { duration } from "../../text/time.ts";
import type { RunEnd } from "../store/runs.ts";

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
  /** The commit that the project's folder was at. */
  readonly commit?: Commit;
}

/** Cancels within this many milliseconds, as by a double click or a request sent again, count as one. */
export const sameCancel = 500;

/** The active runs, as admission and the routes use them. */
export interface Runs {
  /** The number of runs that this process works on. */
  readonly count: number;
  /** Begins a granted run, once the first of its callers has its reply. Never throws. */
  launch(run: ServedRun): void;
  /** Removes a granted run whose caller has left before its reply, unless another caller gets it too. */
  withdraw(runId: string): void;
  /** Begins to end a run; it keeps its slot until no process is left. The first reason counts; a second cancel ends cleanup. */
  cancel(orgId: string, runId: string, by: string): Promise<void>;
  /** For the service's shutdown. */
  stopAll(): Promise<void>;
}

export function endOf(end: RunnerEnd, reason: StopReason | undefined): RunEnd {
  switch (end.kind) {
    case "succeeded":
      return { status: "succeeded", reason: undefined };
    case "failed":
      return { status: "failed", reason: end.message };
    case "died":
      return reason === undefined ? { status: "lost", reason: end.message } : stoppedEnd(reason);
    case "stopped":
      return reason === undefined
        ? { status: "lost", reason: "its runner was ended from outside" }
        : stoppedEnd(reason);
  }
}

/** The end of a run that was stopped, even if it had no process yet. */
export function stoppedEnd(reason: StopReason): { status: RunStatus; reason: string } {
  switch (reason.kind) {
    case "cancelled":
      return { status: "cancelled", reason: cancelledBy + reason.by };
    case "timed-out":
      return { status: "timed-out", reason: timedOutReason(reason) };
    case "service-stopped":
      return {
        status: "cancelled",
        reason: reason.why === undefined ? "the service was stopped" : `the service ended: ${reason.why}`,
      };
  }
}

function timedOutReason(reason: Extract<StopReason, { kind: "timed-out" }>): string {
  const { seconds, stepsMilliseconds, origin, step } = reason;
  const steps = stepsMilliseconds === undefined ? "" : ` (${duration(stepsMilliseconds)} for its steps)`;
  const during = step === undefined ? "" : ` during the step \`${quoted(step)}\``;
  const limit = `reached its time limit of ${duration(seconds * 1000)}${steps}${during}`;
  if (seconds >= timeLimit.atMost) return `${limit}, the most that a run may take`;
  const setBy = origin === "file" ? "`time-limit:` in the pipeline file sets it" : "it was set at the start";
  return `${limit}; ${setBy}, to at most 1h`;
}
