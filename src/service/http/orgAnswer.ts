import type { Committed } from "../store/committedReads.ts";
import type { Caller } from "../store/keys.ts";
import { asOrg } from "../store/orgs.ts";
import { type Answer, answerOf } from "./answer.ts";
import { rateLimitHeaders } from "./rateLimit.ts";

/** `GET /api/org`: the org as it is committed now, with the runs of the UTC day of `now`. */
export function orgAnswer(
  latest: Committed,
  { orgId, keyId }: Pick<Caller, "orgId" | "keyId">,
  now: number,
): Answer {
  const org = latest.org(orgId, now);
  const text = latest.madeOf(org, keyId, () => answerOf(asOrg(org, keyId)).text);
  return { status: 200, headers: rateLimitHeaders(org, now), text };
}
