import { timeLimit } from "../../contract/limits.ts";

/** A length of time as a pipeline file writes it: `500ms`, `60s`, `1.5m`, `1h`. A bare number is in seconds. */
export const durationPattern = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)$/;

/** @returns milliseconds; undefined for anything else. */
export function parseDuration(written: string | number): number | undefined {
  if (typeof written === "number") {
    return Number.isFinite(written) && written >= 0 ? written * 1000 : undefined;
  }
  const [, amount, unit = ""] = durationPattern.exec(written) ?? [];
  return amount === undefined ? undefined : Number(amount) * (milliseconds[unit] ?? 1);
}

const milliseconds: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };

/**
 * A run's time limit as people write it: a number of seconds, or a text as in a pipeline file, such as `90s` or `5m`.
 * @returns whole seconds, at most the contract's hour; undefined for anything else.
 */
export function readTimeLimit(written: number | string): number | undefined {
  const seconds = (parseDuration(written) ?? Number.NaN) / 1000;
  return Number.isInteger(seconds) && seconds >= 1 && seconds <= timeLimit.atMost ? seconds : undefined;
}
