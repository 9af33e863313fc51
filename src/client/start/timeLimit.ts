import { timeLimit } from "../../contract/limits.ts";
import { parseDuration } from "../../pipeline/file/duration.ts";

/**
 * A run's time limit as people write it: a number of seconds, or a text as in a pipeline file, such as `90s` or `5m`.
 * @returns whole seconds, at most the contract's hour; undefined for anything else.
 */
export function readTimeLimit(written: number | string): number | undefined {
  const seconds = (parseDuration(written) ?? Number.NaN) / 1000;
  return Number.isInteger(seconds) && seconds >= 1 && seconds <= timeLimit.atMost ? seconds : undefined;
}
