import type { ServiceClient } from "../../client/service/client.ts";
import { Deadline } from "../../client/service/deadline.ts";
import { secondsToLimit, slotHolders } from "../../client/start/slotHolders.ts";
import { waitSeconds } from "../../contract/limits.ts";
import { nameOf, type Run, type RunStep } from "../../contract/run.ts";
import type { Clock } from "../../machine/clock.ts";
import { placeText, type QueuePlace } from "../../text/queueText.ts";
import { english } from "../../text/refusalText.ts";
import { duration, elapsed, tookText } from "../../text/time.ts";
import { stepNotes } from "../../text/timeline.ts";
import type { Output } from "../output/output.ts";
import type { LiveLines } from "../terminal/liveLines.ts";
import { marksOf, stepLook } from "../terminal/terminal.ts";

export interface ProgressDeps {
  readonly output: Output;
  readonly live: LiveLines;
  readonly clock: Clock;
  /** Whether other pipelines print progress too, so that each line starts with its pipeline's name. */
  readonly isOneOfSeveral: boolean;
}

/** How long the line of an ended step waits for the rest of its log, which comes by another connection. */
const logWithinMilliseconds = 1000;

/**
 * Shows a run's progress on standard error: a permanent line for each ended step, and on a live terminal the current step
 * with its seconds. They are counted here, since the service's clock may differ. Beside a log, a step's line follows its output.
 */
export class RunProgress implements Disposable {
  readonly #deps: ProgressDeps;
  #run: Run;
  readonly #over = new AbortController();
  #printedSteps = 0;
  #heldSteps = 0;
  /** The steps before this one have all their output on the screen. */
  #loggedSteps: number;
  #current: { readonly name: string; readonly since: number };
  #isCancelling = false;

  /** @param hasLog whether {@link logged} will tell how far the run's log is printed. */
  constructor(deps: ProgressDeps, run: Run, hasLog: boolean) {
    this.#deps = deps;
    this.#run = run;
    this.#loggedSteps = hasLog ? 0 : Number.POSITIVE_INFINITY;
    this.#current = { name: "starting", since: deps.clock.monotonic() };
    deps.live.set(this, (spinner) => this.#line(spinner));
    deps.live.note(`${nameOf(run)}: ${run.runId} started`);
  }

  show(run: Run): void {
    this.#run = run;
    const current = this.#steps.find(isOpen);
    if (current !== undefined) this.#setCurrent(current.name);
    this.#printEnded();
    const ended = this.#endedSteps();
    if (ended <= Math.max(this.#printedSteps, this.#heldSteps)) return;
    this.#heldSteps = ended;
    this.#deps.clock.sleep(logWithinMilliseconds, this.#over.signal).then(
      () => this.logged(ended),
      () => undefined,
    );
  }

  /** The output of so many steps is printed. */
  logged(steps: number): void {
    this.#loggedSteps = Math.max(this.#loggedSteps, steps);
    this.#printEnded();
  }

  /** Shows that the run was cancelled and its end is awaited. */
  cancelling(): void {
    this.#isCancelling = true;
    this.#setCurrent("cancelling");
    this.#deps.live.note(
      `${nameOf(this.#run)}: cancelling ${this.#run.runId}; Ctrl-C again leaves at once, without waiting for its end`,
    );
  }

  /** Shows what the service says of the run beside its status. */
  note(text: string): void {
    this.#deps.live.note(`${nameOf(this.#run)}: ${text}`);
  }

  end(run: Run): void {
    this.#run = run;
    this.logged(Number.POSITIVE_INFINITY);
    this.#deps.live.remove(this);
    const took = tookText(run.createdAt, run.stoppedAt);
    this.#deps.output.note(`${nameOf(this.#run)}: ${run.status}${took === undefined ? "" : ` in ${took}`}`);
  }

  [Symbol.dispose](): void {
    this.#over.abort();
    this.logged(Number.POSITIVE_INFINITY);
    this.#deps.live.remove(this);
  }

  get #steps(): readonly RunStep[] {
    return this.#run.steps ?? [];
  }

  /** How many steps have ended, from the first on. */
  #endedSteps(): number {
    const active = this.#steps.findIndex(isOpen);
    return active === -1 ? this.#steps.length : active;
  }

  #printEnded(): void {
    const until = Math.min(this.#endedSteps(), this.#loggedSteps);
    for (const step of this.#steps.slice(this.#printedSteps, until)) this.#deps.live.note(this.#ended(step));
    this.#printedSteps = Math.max(this.#printedSteps, until);
  }

  #setCurrent(name: string): void {
    if (this.#isCancelling && name !== "cancelling") return;
    if (name !== this.#current.name) this.#current = { name, since: this.#deps.clock.monotonic() };
  }

  #line(spinner: string): string {
    const { output, clock } = this.#deps;
    const { style } = output.err;
    const { between } = marksOf(output.err);
    const time = elapsed(clock.monotonic() - this.#current.since);
    const end = this.#isCancelling ? ` ${between} Ctrl-C again leaves at once` : "";
    return `${spinner} ${nameOf(this.#run)}: ${this.#current.name} ${style.dim(`${between} ${time}${end}`)}`;
  }

  #ended(step: RunStep): string {
    const { name, status, startedAt, stoppedAt, message } = step;
    const { output, isOneOfSeveral } = this.#deps;
    const { style } = output.err;
    const whose = isOneOfSeveral ? `${nameOf(this.#run)}: ` : "";
    const { mark, paint } = stepLook(step, this.#run, output.err);
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
}

/** Whether a step goes on, or is still to come. */
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
    /** Says who is waited for. Never rejects. @param servedAt as for {@link slotHoldersLine}. */
    async begin(client: ServiceClient, servedAt: number | undefined): Promise<void> {
      if (output.isQuiet) return;
      using deadline = new Deadline(clock, over.signal);
      deadline.arm(holdersTimeoutSeconds);
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
 * The holders of the org's slots: `nightly (run_…, by ada, up to 1 min 20 s left)`, of several `… or …`.
 *
 * @param servedAt the service's clock now, in milliseconds since 1970; without it the line has no times.
 * @returns undefined where the service lists no runs.
 */
async function slotHoldersLine(
  client: ServiceClient,
  servedAt: number | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const runs = (await slotHolders(client, signal)) ?? [];
  if (runs.length === 0) return undefined;
  const isNamed = runs.some(({ actorName }) => actorName !== undefined);
  const org = isNamed
    ? await client
        .withoutRetries()
        .org(signal)
        .catch(() => undefined)
    : undefined;
  return runs.map((run) => holderText(run, org?.actor, servedAt)).join(" or ");
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
