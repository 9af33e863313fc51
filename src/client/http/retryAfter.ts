import type { AnswerHeaders } from "./fetch.ts";

/**
 * The seconds that a reply asks to wait before another attempt, from its `Retry-After` (a number or a date, counted
 * from the reply's own `Date` where it has one).
 *
 * @param now the caller's clock in milliseconds since 1970, used only for a date in a reply without `Date`.
 */
export function retryAfterSeconds(headers: AnswerHeaders, now: number): number | undefined {
  const text = headers.get("retry-after");
  if (text === null) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const until = Date.parse(text);
  const served = Date.parse(headers.get("date") ?? "");
  const seconds = Math.ceil((until - (Number.isNaN(served) ? now : served)) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
