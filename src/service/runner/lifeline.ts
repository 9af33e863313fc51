import type { Readable } from "node:stream";
import { readLines } from "./protocol.ts";

/** The pipe from the service: one line comes down it, and its end means that the run has to end. */
interface Lifeline {
  /** The job's line; undefined when the pipe ended before there was one. */
  readonly firstLine: Promise<string | undefined>;
  readonly cut: AbortSignal;
}

export function lifeline(input: Readable): Lifeline {
  const cutting = new AbortController();
  const line = Promise.withResolvers<string | undefined>();
  readLines(input, line.resolve);
  const close = () => {
    cutting.abort();
    line.resolve(undefined);
  };
  input.once("end", close);
  input.once("error", close);
  input.once("close", close);
  return { firstLine: line.promise, cut: cutting.signal };
}
