import { idempotencyKeySchema } from "../../contract/run.ts";
import { toWire } from "../../contract/wire.ts";
import { Bell } from "../../machine/bell.ts";
import type { OrgQueue } from "../admission/queue.ts";
import { readOrg } from "../store/orgs.ts";
import type { AppDeps } from "./appDeps.ts";
import type { Endpoints } from "./endpoints.ts";
import { liveReply, silenceMilliseconds } from "./liveReply.ts";
import { orgEventStream } from "./orgEventStream.ts";
import type { OrgReader } from "./orgEvents.ts";
import { rateLimitHeaders, reply } from "./reply.ts";
import { readIdempotencyKey } from "./requestInput.ts";

/** The caller's org, and its events. */
export function orgRoutes(endpoints: Endpoints, deps: AppDeps): void {
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
      path: "/api/queue",
      group: "org",
      summary: "How many start requests wait for a slot, and the place of the caller's",
      description:
        "Events `queue` (data: a Queue): one at once, then one after each change. `place` is 1 for the request that is next, and absent for one that isn't in the queue. A comment at least every 15 s. `conflict` when the key follows too many events and logs already.",
      access: "every role",
      headers: [
        {
          name: "Idempotency-Key",
          description: "That of a start request of the caller's, whose place is asked for.",
          schema: idempotencyKeySchema,
        },
      ],
      reply: { description: "Server-sent events, without end.", text: ["text/event-stream"] },
      errors: ["conflict"],
    },
    (context) => {
      const { orgId, keyId: actor } = context.get("caller");
      const idempotencyKey = readIdempotencyKey(context.req.header("idempotency-key"));
      return liveReply(context, deps, {
        contentType: "text/event-stream",
        pieces: (signal) => queuePieces(orgId, { actor, idempotencyKey }, deps, signal),
      });
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

/** The queue as it is, then each time that differs. */
async function* queuePieces(
  orgId: string,
  watcher: Parameters<OrgQueue["seenBy"]>[0],
  { events, clock }: AppDeps,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const bell = new Bell();
  const reader: OrgReader = {
    sent: Number.POSITIVE_INFINITY,
    hear: ({ kind }) => kind === "org" && bell.ring(),
  };
  const feed = events.join(orgId, reader);
  let told = "";
  try {
    while (!signal.aborted) {
      const queue = await feed.queue();
      const event = `event: queue\ndata: ${JSON.stringify(toWire(queue.seenBy(watcher)))}\n\n`;
      if (event !== told) yield event;
      told = event;
      if (!(await bell.wait(clock, silenceMilliseconds, signal))) yield ": here\n\n";
    }
  } finally {
    events.leave(orgId, reader);
  }
}
