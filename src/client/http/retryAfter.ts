import type { AnswerHeaders } from "./fetch.ts";

/** Nobody waits for longer than a day before another attempt, and no timer can for more than 24 days. */
const longest = 86_400;

/**
 * The seconds that a reply asks to wait before another attempt, from its `Retry-After` (a number or a date, counted
 * from the reply's own `Date` where it has one); a day at the most.
 *
 * @param now the caller's clock in milliseconds since 1970, used only for a date in a reply without `Date`.
 */
export function retryAfterSeconds(headers: AnswerHeaders, now: number): number | undefined {
  const text = headers.get("retry-after");
  if (text === null) return undefined;
  if (/^\d+$/.test(text)) return Math.min(Number(text), longest);
  const until = Date.parse(text);
  const served = Date.parse(headers.get("date") ?? "");
  const seconds = Math.ceil((until - (Number.isNaN(served) ? now : served)) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(0, seconds), longest);
}
