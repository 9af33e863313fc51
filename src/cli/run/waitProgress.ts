import type { ServiceClient } from "../../client/service/client.ts";
import { Deadline } from "../../client/service/deadline.ts";
import { placeHolders, secondsToLimit } from "../../client/start/slotHolders.ts";
import { waitSeconds } from "../../contract/limits.ts";
import type { Run } from "../../contract/run.ts";
import { marksOf } from "../marks.ts";
import type { ProgressDeps } from "./runProgress.ts";

/** How often a wait is told of where lines only follow lines, in seconds. */
const toldEverySeconds = 30;
/** How long the first line waits for the service to say who holds the place. */
const holdersWithinSeconds = 2;

/** Tells a wait for a place on standard error: on a live terminal on one line, elsewhere now and then. */
export class WaitProgress implements Disposable {
  readonly #deps: ProgressDeps;
  readonly #pipeline: string;
  readonly #over = new AbortController();
  #secondsLeft = 0;
  #toldAt: number | undefined;

  constructor(deps: ProgressDeps, pipeline: string) {
    this.#deps = deps;
    this.#pipeline = pipeline;
  }

  /** The wait begins. @param servedAt the service's clock, see {@link placeHoldersLine}. */
  begin(client: ServiceClient, servedAt: number | undefined): void {
    if (!this.#deps.output.isQuiet) void this.#tellBeginning(client, servedAt);
  }

  show(secondsLeft: number): void {
    this.#secondsLeft = secondsLeft;
    const { live, output } = this.#deps;
    live.set(this, (spinner) => this.#line(spinner));
    if (output.err.isLive || this.#toldAt === undefined) return;
    if (this.#toldAt - secondsLeft < toldEverySeconds) return;
    this.#toldAt = secondsLeft;
    output.note(`${this.#pipeline}: still waiting for a place, ${secondsLeft} s left`);
  }

  [Symbol.dispose](): void {
    this.#over.abort();
    this.#deps.live.remove(this);
  }

  async #tellBeginning(client: ServiceClient, servedAt: number | undefined): Promise<void> {
    const { live, clock } = this.#deps;
    using deadline = new Deadline(clock, this.#over.signal);
    deadline.arm(holdersWithinSeconds);
    const holders = await placeHoldersLine(client, servedAt, deadline.signal);
    if (this.#over.signal.aborted) return;
    this.#toldAt = this.#secondsLeft;
    const who = holders ?? "another run holds it";
    live.note(`${this.#pipeline}: waiting up to ${waitSeconds} s for a place; ${who}`);
  }

  #line(spinner: string): string {
    const { err } = this.#deps.output;
    const { between } = marksOf(err);
    const rest = `${between} ${this.#secondsLeft} s left ${between} Ctrl-C gives up the turn`;
    return `${spinner} ${this.#pipeline}: waiting for a place ${err.style.dim(rest)}`;
  }
}

/**
 * Who holds the org's places: `nightly (run_…) holds it for 80 s at most`, of several `held by … and …`.
 *
 * @param servedAt the service's clock now, in milliseconds since 1970; without it nothing is said of the time left.
 * @returns undefined where the service doesn't tell.
 */
async function placeHoldersLine(
  client: ServiceClient,
  servedAt: number | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const runs = (await placeHolders(client, signal)) ?? [];
  const [first, ...others] = runs;
  if (first === undefined) return undefined;
  if (others.length === 0) return `${holder(first)} holds it${timeLeft(first, servedAt, "")}`;
  return `held by ${runs.map((run) => `${holder(run)}${timeLeft(run, servedAt, ",")}`).join(" and ")}`;
}

function holder({ pipeline, runId }: Run): string {
  return pipeline === undefined ? runId : `${pipeline} (${runId})`;
}

function timeLeft(run: Run, servedAt: number | undefined, comma: string): string {
  const left = secondsToLimit(run, servedAt);
  return left === undefined ? "" : `${comma} for ${left} s at most`;
}
