import { secondsToReset } from "../../contract/day.ts";
import type { Org } from "../../contract/org.ts";

const daySeconds = 86_400;

/**
 * The day's runs as `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers, from its revision 8 on), under
 * the name of the scope that a refusal has: how many there are, how many are left, and the seconds to 00:00 UTC.
 *
 * @param now the instant that the org was read at.
 */
export function rateLimitHeaders(
  { limits, usage }: Pick<Org, "limits" | "usage">,
  now: number,
): Record<"ratelimit-policy" | "ratelimit", string> {
  const left = Math.max(0, limits.runsPerDay - usage.runsToday);
  return {
    "ratelimit-policy": `"free-day";q=${limits.runsPerDay};w=${daySeconds}`,
    ratelimit: `"free-day";r=${left};t=${secondsToReset(now)}`,
  };
}
