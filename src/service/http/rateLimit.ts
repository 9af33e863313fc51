import { secondsToReset } from "../../contract/day.ts";
import type { OrgRow } from "../store/orgs.ts";

const daySeconds = 86_400;

/**
 * The day's runs as `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers, from its revision 8 on), under
 * the name of the scope that a refusal has: how many there are, how many are left, and the seconds to 00:00 UTC.
 *
 * @param now the instant that the org was read at.
 */
export function rateLimitHeaders(
  { runs_per_day: limit, runs_today: used }: Pick<OrgRow, "runs_per_day" | "runs_today">,
  now: number,
): Record<"ratelimit-policy" | "ratelimit", string> {
  const left = Math.max(0, limit - Number(used));
  return {
    "ratelimit-policy": `"free-day";q=${limit};w=${daySeconds}`,
    ratelimit: `"free-day";r=${left};t=${secondsToReset(now)}`,
  };
}
