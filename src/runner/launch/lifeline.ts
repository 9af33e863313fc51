import type { Readable } from "node:stream";
import { type CleanupOrder, type Job, type LifeSign, machineMilliseconds, readLines } from "./protocol.ts";

/** The pipe from the service. The run has to end when it closes, or when the life signs on it stop. */
export interface Lifeline {
  /** Undefined when the run had to end before its job arrived. */
  readonly job: Promise<Job | undefined>;
  /** Aborted when the pipe closes, the run's time is over, or this process has to end. */
  readonly signal: AbortSignal;
  /** Aborted when the steps have to end so that the run cleans up: at the service's order, or when their time is over. */
  readonly cleaningUp: AbortSignal;
  /** When the cleanup has to be over, in `machineMilliseconds`; infinite without an order. */
  readonly cleanUpUntil: () => number;
  /** In `machineMilliseconds`; infinite for a run without life signs. */
  readonly livesUntil: () => number;
}

/** @param ended aborted when this process has to end. */
export function lifeline(input: Readable, ended: AbortSignal): Lifeline {
  const cutting = new AbortController();
  const cleaningUp = new AbortController();
  const job = Promise.withResolvers<Job | undefined>();
  let cleanUpUntil = Number.POSITIVE_INFINITY;
  const close = () => {
    life.clear();
    steps.clear();
    cutting.abort();
    job.resolve(undefined);
  };
  const life = new Deadline(close);
  const steps = new Deadline(() => cleaningUp.abort());
  const take = (line: Partial<LifeSign & CleanupOrder>): void => {
    if (line.livesUntil !== undefined) life.set(line.livesUntil);
    if (line.cleanUpUntil !== undefined) {
      cleanUpUntil = line.cleanUpUntil;
      cleaningUp.abort();
    }
  };
  let isFirst = true;
  readLines(input, (text) => {
    if (cutting.signal.aborted) return;
    if (isFirst) {
      isFirst = false;
      const first: Job = JSON.parse(text);
      job.resolve(first);
      if (first.cleanUpAt !== undefined) steps.set(first.cleanUpAt);
      take(first);
    } else take(JSON.parse(text));
  });
  input.once("end", close);
  input.once("error", close);
  input.once("close", close);
  ended.addEventListener("abort", close, { once: true });
  return {
    job: job.promise,
    signal: cutting.signal,
    cleaningUp: cleaningUp.signal,
    cleanUpUntil: () => cleanUpUntil,
    livesUntil: () => life.at,
  };
}

/** A time on this machine's clock that may be moved, and what happens then. */
class Deadline {
  /** In `machineMilliseconds`. */
  at = Number.POSITIVE_INFINITY;
  readonly #reach: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(reach: () => void) {
    this.#reach = reach;
  }

  set(at: number): void {
    this.at = at;
    this.#check();
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  #check(): void {
    const rest = this.at - machineMilliseconds();
    clearTimeout(this.#timer);
    if (rest <= 0) this.#reach();
    // After a suspension timers come before the pipe, which may hold a life sign that is still good.
    else this.#timer = setTimeout(() => setImmediate(() => this.#check()), rest).unref();
  }
}
