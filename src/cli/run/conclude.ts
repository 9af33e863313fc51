import type { ServiceClient } from "../../client/service/client.ts";
import { Deadline } from "../../client/service/deadline.ts";
import { LostStart } from "../../client/service/replyErrors.ts";
import { exitCodes } from "../../contract/errors.ts";
import { fromFailedStep } from "../../contract/fromStep.ts";
import { quotaText } from "../../contract/limits.ts";
import type { Org } from "../../contract/org.ts";
import { inputsForRerun } from "../../contract/pipelines.ts";
import { type Hint, refusalReport, runCommand, startCommand, startOptions } from "../../contract/refusal.ts";
import { failureInReason, nameOf, type Run, reasonText } from "../../contract/run.ts";
import { counted } from "../../text/counted.ts";
import { english, refusalLines } from "../../text/refusalText.ts";
import { duration } from "../../text/time.ts";
import { unsetIn } from "../../text/unsetVariables.ts";
import { type Failure, failureOf, type Output } from "../output/output.ts";
import { marksOf } from "../terminal/terminal.ts";
import { isFault, type Outcome } from "./batch.ts";

export interface Conclusion {
  readonly output: Output;
  /** The project's folder, if there is one here. */
  readonly root: string | undefined;
  readonly wasInterrupted: boolean;
  /** The duration of the whole command, in milliseconds. */
  readonly took: number;
  /** Undefined if the numbers aren't known. */
  readonly org: Org | undefined;
}

/**
 * Prints the result of the runs. Of several reasons the first counts: a refusal, an interrupt, a fault, a failed run.
 * @returns the exit code.
 */
export async function conclude(outcomes: readonly Outcome[], conclusion: Conclusion): Promise<number> {
  const { output, root, wasInterrupted } = conclusion;
  if (outcomes.length > 1 && !wasInterrupted) output.note(summary(outcomes, conclusion));
  const [refused, ...others] = outcomes.flatMap((outcome) =>
    outcome.kind === "refused" ? [outcome.start] : [],
  );
  if (refused !== undefined) {
    for (const outcome of outcomes) if (outcome.kind !== "refused") output.aside(describeOutcome(outcome));
    const facts = { now: Date.now(), runsPerDay: conclusion.org?.limits.runsPerDay };
    output.refusal(refusalReport(refused, ...others), refusalLines([refused, ...others], facts, english));
    return exitCodes.refusedByLimit;
  }
  const runs = outcomes.flatMap((outcome) => ("run" in outcome ? [outcome.run] : []));
  const fail = (failure: Failure, exitCode: number): number => {
    output.text(linesOf(runs));
    output.failure("run", failure, { runs });
    return exitCode;
  };
  if (wasInterrupted) {
    const message = `interrupted: ${outcomes.map(describeOutcome).join("; ")}.`;
    return fail({ type: "interrupted", message, next: "" }, exitCodes.interrupted);
  }
  const fault = faultOf(outcomes);
  if (fault !== undefined) return fail(fault.failure, fault.exitCode);
  const bad = outcomes.flatMap((outcome) =>
    outcome.kind === "run" && outcome.isFollowed && outcome.run.status !== "succeeded" ? [outcome] : [],
  );
  if (bad.length > 0) {
    const message = bad.map(({ run }) => endText(run, output)).join("\n");
    const [only, other] = bad;
    const hint = only === undefined || other !== undefined ? undefined : await fromStepHint(only.run, root);
    const unset = unsetIn(only?.run.reason ?? "").map((name) => `\`${name}\``);
    const first =
      unset.length === 0 ? "" : `Once ${unset.join(", ")} ${unset.length === 1 ? "is" : "are"} set, `;
    const next = hint === undefined ? "" : `${first}\`${hint.command}\` is ${hint.doc}.`;
    const hints = hint === undefined ? [] : [hint];
    return fail({ type: "run-failed", message, next, hints }, exitCodes.runDidNotSucceed);
  }
  output.result("run", { runs }, linesOf(runs));
  return exitCodes.done;
}

/** The first fault, with the pipelines that weren't started because of it. */
function faultOf(outcomes: readonly Outcome[]): ReturnType<typeof failureOf> | undefined {
  const fault = outcomes.find(isFault);
  if (fault === undefined) return undefined;
  const { failure, exitCode } = failureOf(fault.error);
  const notStarted = outcomes.flatMap((outcome) =>
    outcome.kind === "not-started" && outcome !== fault ? [outcome.pipeline] : [],
  );
  const others = outcomes.filter((outcome) => outcome.kind === "follow-failed");
  const next = [
    ...others.map(
      ({ run }) => `${nameOf(run)} may still be running: \`${runCommand("show", run.runId)}\` shows it.`,
    ),
    failure.next,
    ...(notStarted.length > 0 ? [`Not started: ${notStarted.join(", ")}.`] : []),
  ];
  return { failure: { ...failure, next: next.filter((sentence) => sentence !== "").join(" ") }, exitCode };
}

/** Describes an outcome as a clause of a sentence. */
export function describeOutcome(outcome: Outcome): string {
  switch (outcome.kind) {
    case "run": {
      const { runId, status } = outcome.run;
      const name = nameOf(outcome.run);
      return outcome.isFollowed ? `${name} ${status} (${runId})` : `${name} was started (${runId})`;
    }
    case "follow-failed":
      return `${nameOf(outcome.run)} may still be running (${outcome.run.runId}): ${failureOf(outcome.error).failure.message.replace(/\.$/, "")}`;
    case "abandoned":
      return outcome.isInDoubt
        ? `${doubtOf(outcome.pipeline)}: ${lookAtRuns}`
        : `${outcome.pipeline} stopped waiting, and no run was started`;
    case "not-started":
      return isInDoubt(outcome) ? doubtOf(outcome.pipeline) : `${outcome.pipeline} was not started`;
    case "refused":
      return `${outcome.start.pipeline} was refused`;
  }
}

/** The text for a pipeline whose start request got no reply. */
export function doubtOf(pipeline: string): string {
  return `it is unknown whether a run of ${pipeline} was started`;
}

export const lookAtRuns = "`pipeline runs list --active` shows it";

function isInDoubt(outcome: Outcome & { kind: "abandoned" | "not-started" }): boolean {
  return outcome.kind === "abandoned" ? outcome.isInDoubt : outcome.error instanceof LostStart;
}

/** How a run ended, and why; names only the step if the step's line has already said why. */
function endText(run: Run, { json, isQuiet }: Output): string {
  const ended = `${nameOf(run)} ${run.status}`;
  const step = json || isQuiet ? undefined : failureInReason(run)?.step;
  if (step?.stoppedAt !== undefined) return `${ended} at step \`${step.name}\`.`;
  // The caller's key started it.
  const reason = reasonText(run, run.actor);
  return reason ? `${ended}: ${reason}` : `${ended}.`;
}

/** The command that starts a new run at the failed step. */
async function fromStepHint(run: Run, root: string | undefined): Promise<Hint | undefined> {
  if (run.pipeline === undefined || fromFailedStep(run) === undefined) return undefined;
  // The parser of pipeline files takes long to load.
  const failed = await (await import("../../project/pipelineFiles.ts")).resumeAt(run, root);
  if (failed === undefined) return undefined;
  const command = startCommand({
    pipeline: run.pipeline,
    options: startOptions({ fromStep: failed.fromStep, inputs: inputsForRerun(run) }),
  });
  return { command, doc: "a new run from that step" };
}

function linesOf(runs: readonly Run[]): string {
  return runs.map((run) => `${run.runId} ${nameOf(run)} ${run.status}`).join("\n");
}

/** `3 runs: 2 succeeded, 1 failed · 12 s · 4 of 50 runs used today`. */
function summary(outcomes: readonly Outcome[], { output, took, org }: Conclusion): string {
  const { between } = marksOf(output.err);
  const runs = outcomes.filter((outcome) => "run" in outcome).length;
  const totals = [...Map.groupBy(outcomes, wordOf)]
    .map(([word, { length }]) => `${length} ${word}`)
    .join(", ");
  const facts = [`${counted(runs, "run")}: ${totals}`, duration(took), ...(org ? [quotaText(org)] : [])];
  return facts.join(` ${between} `);
}

function wordOf(outcome: Outcome): string {
  switch (outcome.kind) {
    case "run":
      return outcome.isFollowed ? outcome.run.status : "started";
    case "refused":
      return "refused";
    case "follow-failed":
      return "unknown";
    default:
      return isInDoubt(outcome) ? "unknown" : "not started";
  }
}

/** Short: the numbers are optional. */
const answerTimeoutSeconds = 2;

/** The org's numbers for the summary; undefined if they don't arrive in time. */
export async function orgNumbers(client: ServiceClient, signal: AbortSignal): Promise<Org | undefined> {
  using deadline = new Deadline(client.clock, signal, answerTimeoutSeconds);
  return await client.org(deadline.signal).catch(() => undefined);
}
