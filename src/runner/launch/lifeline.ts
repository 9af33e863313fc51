import type { Readable } from "node:stream";
import { type LifeSign, machineMilliseconds, readLines } from "./protocol.ts";

/** The pipe from the service. The run has to end when it closes, or when the life signs on it stop. */
export interface Lifeline {
  /** The job's line; undefined when the run had to end before it arrived. */
  readonly firstLine: Promise<string | undefined>;
  /** Aborted when the pipe closes, the run's time is over, or this process has to end. */
  readonly signal: AbortSignal;
  readonly live: (sign: LifeSign) => void;
  /** In `machineMilliseconds`; infinite for a run without life signs. */
  readonly livesUntil: () => number;
}

export function lifeline(input: Readable, ended: AbortSignal): Lifeline {
  const cutting = new AbortController();
  const line = Promise.withResolvers<string | undefined>();
  let livesUntil = Number.POSITIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  const close = () => {
    clearTimeout(timer);
    cutting.abort();
    line.resolve(undefined);
  };
  const check = (): void => {
    const rest = livesUntil - machineMilliseconds();
    clearTimeout(timer);
    if (rest <= 0) close();
    // After a suspension timers come before the pipe, which may hold a life sign that is still good.
    else if (!cutting.signal.aborted) timer = setTimeout(() => setImmediate(check), rest).unref();
  };
  const live = (sign: LifeSign): void => {
    livesUntil = sign.livesUntil;
    check();
  };
  let isFirst = true;
  readLines(input, (text) => {
    if (isFirst) line.resolve(text);
    else live(JSON.parse(text));
    isFirst = false;
  });
  input.once("end", close);
  input.once("error", close);
  input.once("close", close);
  ended.addEventListener("abort", close, { once: true });
  return { firstLine: line.promise, signal: cutting.signal, live, livesUntil: () => livesUntil };
}
