import type { Clock } from "../../contract/clock.ts";
import { nameOf, type Run, type Step } from "../../contract/run.ts";
import { duration } from "../../contract/time.ts";
import type { LiveLines } from "../liveLines.ts";
import { marksOf } from "../marks.ts";
import type { Output } from "../output.ts";

export interface ProgressDeps {
  readonly output: Output;
  readonly live: LiveLines;
  readonly clock: Clock;
  /** Whether other pipelines are told of at the same time, so that each line has to say whose it is. */
  readonly isOneOfSeveral: boolean;
}

/**
 * Tells a run on standard error: each step as it ends, on a line that stays, and on a live terminal the one in work with
 * its seconds. Those are counted here, since the service's clock is another.
 */
export class RunProgress implements Disposable {
  readonly #deps: ProgressDeps;
  readonly #run: Run;
  #told = 0;
  #current: { readonly name: string; readonly since: number };
  #isCancelling = false;

  constructor(deps: ProgressDeps, run: Run) {
    this.#deps = deps;
    this.#run = run;
    this.#current = { name: "starting", since: deps.clock.monotonic() };
    deps.live.set(this, (spinner) => this.#line(spinner));
    deps.live.note(`${nameOf(run)}: ${run.runId} started`);
  }

  show(run: Run): void {
    for (const step of (run.steps ?? []).slice(this.#told)) {
      if (step.stoppedAt === undefined) {
        this.#turnTo(step.name);
        return;
      }
      this.#told += 1;
      this.#deps.live.note(this.#ended(step));
    }
  }

  /** From now on the run is only waited for until it has given up its place. */
  cancelling(): void {
    this.#isCancelling = true;
    this.#turnTo("cancelling");
    this.#deps.live.note(
      `${nameOf(this.#run)}: cancelling ${this.#run.runId}; Ctrl-C again leaves at once, without waiting for its end`,
    );
  }

  end(run: Run): void {
    this.show(run);
    this.#deps.live.remove(this);
    const took = timeBetween(run.createdAt, run.stoppedAt);
    this.#deps.output.note(`${nameOf(this.#run)}: ${run.status}${took === undefined ? "" : ` in ${took}`}`);
  }

  [Symbol.dispose](): void {
    this.#deps.live.remove(this);
  }

  #turnTo(name: string): void {
    if (this.#isCancelling && name !== "cancelling") return;
    if (name !== this.#current.name) this.#current = { name, since: this.#deps.clock.monotonic() };
  }

  #line(spinner: string): string {
    const { output, clock } = this.#deps;
    const { style } = output.err;
    const { between } = marksOf(output.err);
    const seconds = Math.floor((clock.monotonic() - this.#current.since) / 1000);
    const end = this.#isCancelling ? ` ${between} Ctrl-C again leaves at once` : "";
    return `${spinner} ${nameOf(this.#run)}: ${this.#current.name} ${style.dim(`${between} ${seconds} s${end}`)}`;
  }

  #ended({ name, status, startedAt, stoppedAt, message }: Step): string {
    const { output, isOneOfSeveral } = this.#deps;
    const { style } = output.err;
    const { good, bad } = marksOf(output.err);
    const isGood = status === "succeeded";
    const mark = isGood ? style.good(good) : style.bad(bad);
    const whose = isOneOfSeveral ? `${nameOf(this.#run)}: ` : "";
    const took = timeBetween(startedAt, stoppedAt);
    const why = isGood || message === undefined ? "" : `\n    ${message.replaceAll("\n", "\n    ")}`;
    return `  ${mark} ${whose}${name}${took === undefined ? "" : style.dim(` (${took})`)}${why}`;
  }
}

function timeBetween(from: string | undefined, to: string | undefined): string | undefined {
  if (from === undefined || to === undefined) return undefined;
  return duration(Math.max(0, Date.parse(to) - Date.parse(from)));
}
