import { timeLimit } from "../../contract/limits.ts";
import type { RunStatus } from "../../contract/runStatus.ts";
import { quoted } from "../../pipeline/parse/problem.ts";
import type { RunnerEnd } from "../runner/launch.ts";
import type { RunEnd } from "../store/runs.ts";

/** Why a run is being stopped from outside. The first reason is kept, later ones change nothing. */
export type StopReason =
  | { readonly kind: "cancelled"; readonly by: string }
  | {
      readonly kind: "timed-out";
      readonly seconds: number;
      /** What has set the limit: the pipeline's file, or whoever started the run. */
      readonly origin: "file" | "start";
      /** The step that was in work; undefined between two steps. */
      readonly step: string | undefined;
    }
  | { readonly kind: "service-stopped" };

/** How a run has ended, from what its runner came to and why it was stopped, if it was. */
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
    default:
      return end satisfies never;
  }
}

/** The end of a run that was stopped from outside, also before it had any process. */
export function stoppedEnd(reason: StopReason): { status: RunStatus; reason: string } {
  switch (reason.kind) {
    case "cancelled":
      return { status: "cancelled", reason: `cancelled by ${reason.by}` };
    case "timed-out":
      return { status: "timed-out", reason: timedOutReason(reason) };
    case "service-stopped":
      return { status: "cancelled", reason: "the service was stopped" };
    default:
      return reason satisfies never;
  }
}

function timedOutReason({ seconds, origin, step }: Extract<StopReason, { kind: "timed-out" }>): string {
  const during = step === undefined ? "" : ` during the step \`${quoted(step)}\``;
  const told = `reached its time limit of ${seconds} s${during}`;
  if (seconds >= timeLimit.atMost) return `${told}, the most that a run may take`;
  const setBy = origin === "file" ? "`time-limit:` in the pipeline file sets it" : "it was set at the start";
  return `${told}; ${setBy}, to at most 1h`;
}
