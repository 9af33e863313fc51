import type { Context } from "hono";
import { Bell } from "../../machine/bell.ts";
import type { Clock } from "../../machine/clock.ts";
import type { BusEvent } from "../store/eventBus.ts";
import type { Caller } from "../store/keys.ts";
import { begunRuns, changedRuns, lastChange } from "../store/runChanges.ts";
import type { Database } from "../store/tables.ts";
import type { AppEnv } from "./everyRequest.ts";
import { type LiveDeps, liveReply, silenceMilliseconds } from "./liveReply.ts";
import { type OrgEvents, type OrgEventsDeps, withId } from "./orgEvents.ts";

/** A reader that has missed more runs than this gets the whole state again, like a new one. */
const mostMissed = 1000;

export interface OrgEventStreamDeps extends LiveDeps, OrgEventsDeps {
  readonly clock: Clock;
  readonly events: OrgEvents;
}

/**
 * `GET /api/events`: the org and its active runs, then each change. An event's id is the sequence number of a change, which
 * is stored with the run: a reader that comes back with it gets every run that has changed since, also after a restart of
 * the service. An event without an id is not the last of the state at its moment.
 */
export function orgEventStream<Env extends AppEnv>(
  context: Context<Env>,
  caller: Caller,
  deps: OrgEventStreamDeps,
): Response {
  const lastEventId = context.req.header("last-event-id");
  return liveReply(context, deps, {
    contentType: "text/event-stream",
    pieces: (signal) => eventPieces(caller, lastEventId, deps, signal),
  });
}

/** Says that a log has grown; the page then reads it. */
const logEvent = "event: log\ndata: \n\n";

/**
 * The pieces of the stream, without end.
 * @param followLog calls back each time a log grows, of which an event is to tell as well; gives a function that unsubscribes.
 */
export async function* eventPieces(
  { orgId, keyId }: Caller,
  lastEventId: string | undefined,
  { db, clock, events }: OrgEventStreamDeps,
  signal: AbortSignal,
  followLog: (onGrown: () => void) => () => void = () => () => {},
): AsyncGenerator<string, void> {
  const bell = new Bell();
  let [hasOrgChanged, hasLogGrown] = [false, false];
  const unwritten = new Set<string>();
  const reader = {
    sent: Number.POSITIVE_INFINITY,
    hear(change: BusEvent) {
      if (change.kind === "org") hasOrgChanged = true;
      else if (change.kind === "unwritten-run") unwritten.add(change.runId);
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
      for (const runId of unwritten) {
        unwritten.delete(runId);
        yield await feed.run(runId);
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
  // A number that this database has not given is another service's.
  if (after > last) return undefined;
  const missed = await changedRuns(db, orgId, after, mostMissed + 1);
  return missed.length > mostMissed ? undefined : after;
}
