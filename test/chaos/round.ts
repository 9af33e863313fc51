import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";

export const counted = ["acts", "kills", "starts", "refusals", "runs", "checks"] as const;
type Counted = (typeof counted)[number];
export type Counts = Readonly<Record<Counted, number>>;

/** One line of a trace: when, in milliseconds since the round began, and what. */
export interface TraceLine {
  readonly at: number;
  readonly what: string;
  readonly facts?: unknown;
}

export interface RoundOptions {
  /** A new folder, which is removed after the round. */
  readonly folder: string;
  /** Added to the environment of every process: the mark by which those left behind are found. */
  readonly environment: Readonly<Record<string, string>>;
  /** Aborts when the campaigns are stopped, or the round has taken too long: what is waited for then rejects. */
  readonly signal: AbortSignal;
  /** Whether the time is up: then no further act is done, and what was done is checked. */
  readonly isTimeUp: () => boolean;
  readonly say: (line: string) => void;
}

/** One round of a campaign: its folder, counts, faults and trace. */
export class Round {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
  readonly #isTimeUp: () => boolean;
  readonly #began = performance.now();
  readonly #counts = { acts: 0, kills: 0, starts: 0, refusals: 0, runs: 0, checks: 0 };
  readonly #trace: TraceLine[] = [];
  readonly #faults: string[] = [];

  constructor({ folder, environment, signal, isTimeUp, say }: RoundOptions) {
    this.folder = folder;
    this.environment = environment;
    this.signal = signal;
    this.#isTimeUp = isTimeUp;
    this.say = say;
  }

  get counts(): Counts {
    return this.#counts;
  }

  get faults(): readonly string[] {
    return this.#faults;
  }

  get lines(): readonly TraceLine[] {
    return this.#trace;
  }

  /** The planned acts, until the time is up or the round is given up; each is counted and traced. */
  *acts<Act extends { readonly act: string }>(planned: readonly Act[]): Generator<Act> {
    for (const act of planned) {
      this.signal.throwIfAborted();
      if (this.#isTimeUp()) return;
      this.#counts.acts += 1;
      const { act: what, ...facts } = act;
      this.trace(`act: ${what}`, facts);
      yield act;
    }
  }

  count(what: Exclude<Counted, "acts" | "checks">, times = 1): void {
    this.#counts[what] += times;
  }

  /** Adds a line to the trace. */
  trace(what: string, facts?: unknown): void {
    const at = Math.round(performance.now() - this.#began);
    this.#trace.push({ at, what, ...(facts === undefined ? {} : { facts }) });
  }

  /** Checks an invariant. A violation is a fault, reported once a round. */
  check(holds: boolean, fault: string, facts?: unknown): void {
    this.#counts.checks += 1;
    if (!holds) this.#tell(fault, facts);
  }

  /** As `check`, of two values that have to be the same. */
  checkSame(actual: unknown, expected: unknown, fault: string): void {
    this.check(isDeepStrictEqual(actual, expected), fault, { actual, expected });
  }

  /**
   * Waits until `look` finds nothing that is still under way; what it finds after so many milliseconds is a fault.
   * @returns whether nothing was left.
   */
  async comesToRest(fault: string, milliseconds: number, look: () => Promise<unknown>): Promise<boolean> {
    const latest = performance.now() + milliseconds;
    for (;;) {
      const left = await look();
      if (left === undefined || performance.now() > latest) {
        this.check(left === undefined, fault, left);
        return left === undefined;
      }
      await pause(50, undefined, { signal: this.signal });
    }
  }

  /** Records a round that threw or took too long as a fault. */
  brokeOff(error: unknown): void {
    this.#tell(`the round broke off: ${error instanceof Error ? error.message : String(error)}`, {
      stack: error instanceof Error ? error.stack : undefined,
    });
  }

  #tell(fault: string, facts: unknown): void {
    this.trace(`FAULT: ${fault}`, facts);
    if (!this.#faults.includes(fault)) this.#faults.push(fault);
  }
}

/** The item at an index, which may be beyond the last: then it counts on from the first. Undefined if there are none. */
export function pick<T>(from: readonly T[], which: number): T | undefined {
  return from[which % Math.max(1, from.length)];
}
