import type { Clock } from "../../contract/clock.ts";
import { readOrg } from "../store/orgs.ts";
import type { Database } from "../store/tables.ts";
import type { Endpoints } from "./endpoints.ts";
import { type OrgEventStreamDeps, orgEventStream } from "./orgEventStream.ts";
import { rateLimitHeaders, reply } from "./reply.ts";

export type OrgRouteDeps = OrgEventStreamDeps & { readonly db: Database; readonly clock: Clock };

/** The caller's org, and its events. */
export function orgRoutes(endpoints: Endpoints, deps: OrgRouteDeps): void {
  endpoints.add(
    {
      method: "get",
      path: "/api/org",
      group: "org",
      summary: "The caller's org, its limits and today's use",
      access: "every role",
      reply: {
        description: "The org; `actor` is the id of the key that asked.",
        json: "Org",
        headers: ["RateLimit", "RateLimit-Policy"],
      },
    },
    async (context) => {
      const now = deps.clock.now();
      const org = await readOrg(deps.db, context.get("caller"), now);
      return reply(org, 200, rateLimitHeaders(org, now));
    },
  );
  endpoints.add(
    {
      method: "get",
      path: "/api/events",
      group: "org",
      summary: "What changes in the org, as it changes",
      description:
        "Events `org` (data: an Org) and `run` (data: a Run). First the state as it is, then each change. A comment at least every 15 s. The stream ends when the key is revoked. `conflict` when the key follows too many events and logs already.",
      access: "every role",
      reply: { description: "Server-sent events, without end.", text: ["text/event-stream"] },
      errors: ["conflict"],
    },
    (context) => orgEventStream(context, context.get("caller"), deps),
  );
}
