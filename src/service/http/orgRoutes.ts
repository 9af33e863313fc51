import { idempotencyKeySchema } from "../../contract/run.ts";
import { toWire } from "../../contract/wire.ts";
import { Bell } from "../../machine/clock.ts";
import type { OrgQueue } from "../admission/queue.ts";
import type { BusEvent } from "../store/eventBus.ts";
import type { Caller } from "../store/keys.ts";
import { readOrg } from "../store/orgs.ts";
import { begunRuns, changedRuns, lastChange } from "../store/runChanges.ts";
import type { Database } from "../store/tables.ts";
import type { AppDeps } from "./appDeps.ts";
import type { Endpoints } from "./endpoints.ts";
import { liveReply, silenceMilliseconds } from "./liveReply.ts";
import { type OrgReader, withId } from "./orgEvents.ts";
import { rateLimitHeaders, reply } from "./reply.ts";
import { readIdempotencyKey } from "./requestInput.ts";

/** The caller's org, and its events. */
export function orgRoutes(endpoints: Endpoints, deps: AppDeps): void {
  endpoints.add(
    {
      method: "get",
      path: "/api/org",
      summary: "The caller's org, its limits and today's use",
      access: "every role",
      reply: {
        description: "The org; `actor` is the id of the key that asked.",
        json: "Org",
        headers: ["RateLimit", "RateLimit-Policy"],
      },
    },
    async (_, { caller }) => {
      const now = deps.clock.now();
      const org = await readOrg(deps.db, caller, now);
      return reply(org, 200, rateLimitHeaders(org, now));
    },
  );
  endpoints.add(
    {
      method: "get",
      path: "/api/queue",
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
    (context, { caller: { orgId, keyId: actor } }) => {
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
      summary: "What changes in the org, as it changes",
      description:
        "Events `org` (data: an Org) and `run` (data: a Run). First the state as it is, then each change. A comment at least every 15 s. The stream ends when the key is revoked. `conflict` when the key follows too many events and logs already.",
      access: "every role",
      reply: { description: "Server-sent events, without end.", text: ["text/event-stream"] },
      errors: ["conflict"],
    },
    (context, { caller }) => {
      const lastEventId = context.req.header("last-event-id");
      return liveReply(context, deps, {
        contentType: "text/event-stream",
        pieces: (signal) => eventPieces(caller, lastEventId, deps, signal),
      });
    },
  );
}

/** The queue as it is, then again each time it differs. */
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
  let lastSent = "";
  try {
    while (!signal.aborted) {
      const queue = await feed.queue();
      const event = `event: queue\ndata: ${JSON.stringify(toWire(queue.seenBy(watcher)))}\n\n`;
      if (event !== lastSent) yield event;
      lastSent = event;
      if (!(await bell.wait(clock, silenceMilliseconds, signal))) yield ": here\n\n";
    }
  } finally {
    events.leave(orgId, reader);
  }
}

/** A reader that has missed more runs than this gets the whole state again, like a new one. */
const mostMissed = 1000;

/** Says that a log has grown; the page then reads it. */
const logEvent = "event: log\ndata: \n\n";

/**
 * The org and its active runs, then each change, without end. An event's id is the sequence number of a change, which is
 * stored with the run: a reader that comes back with it gets every run that has changed since, also after a restart of
 * the service. An event without an id completes no change, so no reader goes on after it.
 * @param followLog subscribes to a log's growth, for which an event is sent too; returns a function that unsubscribes.
 */
export async function* eventPieces(
  { orgId, keyId }: Caller,
  lastEventId: string | undefined,
  { db, clock, events }: Pick<AppDeps, "db" | "clock" | "events">,
  signal: AbortSignal,
  followLog: (onGrown: () => void) => () => void = () => () => {},
): AsyncGenerator<string, void> {
  const bell = new Bell();
  let [hasOrgChanged, hasLogGrown] = [false, false];
  const reader = {
    sent: Number.POSITIVE_INFINITY,
    hear(change: BusEvent) {
      if (change.kind === "org") hasOrgChanged = true;
      bell.ring();
    },
  };
  const onLogGrown = () => {
    hasLogGrown = true;
    bell.ring();
  };
  // Joined first: what changes while the state is being sent is read after it.
  const feed = events.join(orgId, reader);
  const unfollowLog = followLog(onLogGrown);
  try {
    yield "retry: 1000\n\n";
    const last = await lastChange(db, orgId);
    const resumed = await resumedAt(db, orgId, lastEventId, last);
    reader.sent = resumed ?? last;
    const begun = resumed === undefined ? await begunRuns(db, orgId) : [];
    // The last event of the whole state has an id.
    yield withId(await feed.org(keyId), resumed === undefined && begun.length === 0 ? last : undefined);
    for (const [index, runId] of begun.entries())
      yield withId(await feed.run(runId), index === begun.length - 1 ? last : undefined);
    while (!signal.aborted) {
      if (hasOrgChanged) {
        hasOrgChanged = false;
        yield await feed.org(keyId);
      }
      const runs = await feed.runsAfter(reader.sent);
      for (const { changed, text } of runs) {
        reader.sent = changed;
        yield text;
      }
      if (hasLogGrown) {
        hasLogGrown = false;
        yield logEvent;
      }
      if (runs.length === 0 && !(await bell.wait(clock, silenceMilliseconds, signal))) yield ": here\n\n";
    }
  } finally {
    unfollowLog();
    events.leave(orgId, reader);
  }
}

/** @returns the change that the reader goes on after; undefined when it needs the whole state. */
async function resumedAt(
  db: Database,
  orgId: string,
  lastEventId: string | undefined,
  last: number,
): Promise<number | undefined> {
  if (lastEventId === undefined || !/^\d{1,15}$/.test(lastEventId)) return undefined;
  const after = Number(lastEventId);
  // A number that this database hasn't issued is another service's.
  if (after > last) return undefined;
  const missed = await changedRuns(db, orgId, after, mostMissed + 1);
  return missed.length > mostMissed ? undefined : after;
}
