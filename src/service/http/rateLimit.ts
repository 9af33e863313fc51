import type { Context } from "hono";
import { secondsToReset } from "../../contract/day.ts";
import type { Org } from "../../contract/org.ts";

const daySeconds = 86_400;

/**
 * The day's runs as `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers, from its revision 8 on), under
 * the name of the scope that a refusal has: how many there are, how many are left, and the seconds to 00:00 UTC.
 *
 * @param now the instant that the org was read at.
 */
export function setRateLimit(context: Context, { limits, usage }: Org, now: number): void {
  const left = Math.max(0, limits.runsPerDay - usage.runsToday);
  context.header("ratelimit-policy", `"free-day";q=${limits.runsPerDay};w=${daySeconds}`);
  context.header("ratelimit", `"free-day";r=${left};t=${secondsToReset(now)}`);
}
