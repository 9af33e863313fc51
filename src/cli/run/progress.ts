import type { ServiceClient } from "../../client/service/client.ts";
import { Deadline } from "../../client/service/deadline.ts";
import { secondsToLimit, slotHolders } from "../../client/start/slotHolders.ts";
import { waitSeconds } from "../../contract/limits.ts";
import { nameOf, type Run, type RunStep } from "../../contract/run.ts";
import type { Clock } from "../../machine/clock.ts";
import { english, placeText, type QueuePlace } from "../../text/refusalText.ts";
import { duration, elapsed, tookText } from "../../text/time.ts";
import { stepNotes } from "../../text/timeline.ts";
import type { Output } from "../output/output.ts";
import { type LiveLines, marksOf, stepLook } from "../terminal/terminal.ts";

export interface ProgressDeps {
  readonly output: Output;
  readonly live: LiveLines;
  readonly clock: Clock;
  /** Whether other pipelines print progress too, so that each line starts with its pipeline's name. */
  readonly isOneOfSeveral: boolean;
}

/** How long the line of an ended step waits for the rest of its log, which comes over another connection. */
const logWithinMilliseconds = 1000;

/**
 * Shows a run's progress on standard error: a permanent line for each ended step and, on a live terminal, the current step with
 * its seconds. They are counted here, since the service's clock may differ. With a log, a step's line follows its output.
 * @param hasLog whether `logged` will report how far the run's log is printed.
 */
export function runProgress(deps: ProgressDeps, started: Run, hasLog: boolean) {
  const { output, live, clock } = deps;
  const over = new AbortController();
  const owner = {};
  let run = started;
  let printed = 0;
  let held = 0;
  /** All earlier steps have all their output on the screen. */
  let loggedSteps = hasLog ? 0 : Number.POSITIVE_INFINITY;
  let current = { name: "starting", since: clock.monotonic() };
  let isCancelling = false;

  const note = (text: string): void => live.note(`${nameOf(run)}: ${text}`);
  /** The steps that have ended, up to the first that hasn't. */
  const ended = (): readonly RunStep[] => {
    const { steps = [] } = run;
    const active = steps.findIndex(isOpen);
    return active === -1 ? steps : steps.slice(0, active);
  };
  /** Reports that the output of the first `steps` steps is printed. */
  const logged = (steps: number): void => {
    loggedSteps = Math.max(loggedSteps, steps);
    const shown = ended().slice(0, loggedSteps);
    for (const step of shown.slice(printed)) live.note(endedText(step, run, deps));
    printed = Math.max(printed, shown.length);
  };
  live.set(owner, (spinner) => {
    const { between } = marksOf(output.err);
    const time = elapsed(clock.monotonic() - current.since);
    const end = isCancelling ? ` ${between} Ctrl-C again leaves at once` : "";
    return `${spinner} ${nameOf(run)}: ${current.name} ${output.err.style.dim(`${between} ${time}${end}`)}`;
  });
  note(`${run.runId} started`);
  return {
    note,
    logged,
    show(now: Run): void {
      run = now;
      const name = run.steps?.find(isOpen)?.name ?? current.name;
      if (!isCancelling && name !== current.name) current = { name, since: clock.monotonic() };
      logged(0);
      const { length } = ended();
      if (length <= Math.max(printed, held)) return;
      held = length;
      clock.sleep(logWithinMilliseconds, over.signal).then(
        () => logged(length),
        () => undefined,
      );
    },
    /** Shows that the run was cancelled and its end is awaited. */
    cancelling(): void {
      isCancelling = true;
      current = { name: "cancelling", since: clock.monotonic() };
      note(`cancelling ${run.runId}; Ctrl-C again leaves at once, without waiting for its end`);
    },
    end(now: Run): void {
      run = now;
      logged(Number.POSITIVE_INFINITY);
      live.remove(owner);
      const took = tookText(run.createdAt, run.stoppedAt);
      output.note(`${nameOf(run)}: ${run.status}${took === undefined ? "" : ` in ${took}`}`);
    },
    [Symbol.dispose](): void {
      over.abort();
      logged(Number.POSITIVE_INFINITY);
      live.remove(owner);
    },
  };
}

function endedText(step: RunStep, run: Run, { output, isOneOfSeveral }: ProgressDeps): string {
  const { name, status, startedAt, stoppedAt, message } = step;
  const { style } = output.err;
  const whose = isOneOfSeveral ? `${nameOf(run)}: ` : "";
  const { mark, paint } = stepLook(step, run, output.err);
  const notes = stepNotes(step);
  if (status === "skipped" || status === "not-reached") {
    const facts = [status.replace("-", " "), ...notes].join(", ");
    return style.dim(`  ${mark} ${whose}${name} (${facts})`);
  }
  const took = tookText(startedAt, stoppedAt);
  const facts = [...(took === undefined ? [] : [took]), ...notes];
  const why =
    status === "succeeded" || message === undefined ? "" : `\n    ${message.replaceAll("\n", "\n    ")}`;
  return `  ${paint(mark)} ${whose}${name}${facts.length === 0 ? "" : style.dim(` (${facts.join(", ")})`)}${why}`;
}

/** Whether a step is running or still to come. */
function isOpen({ status, stoppedAt }: RunStep): boolean {
  return stoppedAt === undefined && status !== "skipped" && status !== "not-reached";
}

/** How often a wait prints a line without a live terminal. */
const reportEverySeconds = 30;
/** How long the first line waits for the slot holders. */
const holdersTimeoutSeconds = 2;

/** Shows a wait for a slot on standard error: one live line on a terminal, otherwise a line every 30 s. */
export function waitProgress({ output, live, clock }: ProgressDeps, pipeline: string) {
  const over = new AbortController();
  const owner = {};
  let left = 0;
  let reportedAt: number | undefined;
  let queued = "";
  const draw = () =>
    live.set(owner, (spinner) => {
      const rest = output.err.style.dim(`${marksOf(output.err).between} Ctrl-C stops waiting`);
      return `${spinner} ${pipeline}: waiting${queued && `, ${queued}`}; gives up in ${left} s ${rest}`;
    });
  return {
    /** Says which runs are waited for. Never rejects. @param servedAt as for {@link slotHoldersLine}. */
    async begin(client: ServiceClient, servedAt: number | undefined): Promise<void> {
      if (output.isQuiet) return;
      using deadline = new Deadline(clock, over.signal, holdersTimeoutSeconds);
      const holders = await slotHoldersLine(client, servedAt, deadline.signal);
      if (over.signal.aborted) return;
      reportedAt = left;
      const who = holders ?? "another run";
      live.note(`${pipeline}: waiting for ${who} to finish; gives up in ${waitSeconds} s`);
    },
    show(secondsLeft: number): void {
      left = secondsLeft;
      draw();
      if (output.err.isLive || reportedAt === undefined) return;
      if (reportedAt - secondsLeft < reportEverySeconds) return;
      reportedAt = secondsLeft;
      output.note(`${pipeline}: still waiting; gives up in ${secondsLeft} s`);
    },
    showPlace(place: QueuePlace | undefined): void {
      const text = place === undefined ? "" : placeText(place, english);
      if (text === queued) return;
      queued = text;
      if (output.err.isLive) draw();
      else if (text !== "") output.note(`${pipeline}: ${text} in the queue`);
    },
    [Symbol.dispose](): void {
      over.abort();
      live.remove(owner);
    },
  };
}

/**
 * The holders of the org's slots: `nightly (run_…, by ada, up to 1 min 20 s left)`, several joined by `or`.
 *
 * @param servedAt the service's clock now, in milliseconds since 1970; without it the line has no times.
 * @returns undefined if the service doesn't list runs.
 */
async function slotHoldersLine(
  client: ServiceClient,
  servedAt: number | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const runs = (await slotHolders(client, signal)) ?? [];
  if (runs.length === 0) return undefined;
  const once = client.withoutRetries();
  const isNamed = runs.some(({ actorName }) => actorName !== undefined);
  const me = isNamed ? (await once.org(signal).catch(() => undefined))?.actor : undefined;
  return runs.map((run) => holderText(run, me, servedAt)).join(" or ");
}

function holderText(run: Run, me: string | undefined, servedAt: number | undefined): string {
  const left = secondsToLimit(run, servedAt);
  const { actor, actorName } = run;
  const facts = [
    ...(run.pipeline === undefined ? [] : [run.runId]),
    ...(actorName === undefined || actor === me ? [] : [`by ${actorName}`]),
    ...(left === undefined ? [] : [`up to ${duration(left * 1000)} left`]),
  ];
  return facts.length === 0 ? nameOf(run) : `${nameOf(run)} (${facts.join(", ")})`;
}
