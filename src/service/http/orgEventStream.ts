import type { Context } from "hono";
import type { Clock } from "../../machine/clock.ts";
import type { Caller } from "../store/keys.ts";
import { begunRuns, type ChangedRun, changedRuns, lastChange } from "../store/runChanges.ts";
import type { Database } from "../store/tables.ts";
import type { AppEnv } from "./everyRequest.ts";
import { type LiveDeps, liveReply, silenceMilliseconds } from "./liveReply.ts";
import { type OrgEvents, type OrgEventsDeps, orgEvent, runEvent, withId } from "./orgEvents.ts";

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
    pieces: (signal, cutOff) => eventPieces(caller, lastEventId, deps, signal, cutOff),
  });
}

/** Says that a log has grown; the page then reads it. */
const logEvent = "event: log\ndata: \n\n";

/**
 * The pieces of the stream, without end.
 * @param followLog calls back each time a log grows, of which an event is to tell as well; gives a function that unsubscribes.
 */
export async function* eventPieces(
  caller: Caller,
  lastEventId: string | undefined,
  deps: OrgEventStreamDeps,
  signal: AbortSignal,
  cutOff: (why: string) => void,
  followLog: (onGrown: () => void) => () => void = () => () => {},
): AsyncGenerator<string, void> {
  const { db, clock, events } = deps;
  const { orgId, keyId } = caller;
  // Joined first: changes while the state is being sent wait in the reader.
  using reader = events.join(caller, cutOff);
  let hasLogGrown = false;
  using leaving = new DisposableStack();
  leaving.defer(
    followLog(() => {
      hasLogGrown = true;
      reader.bell.ring();
    }),
  );
  yield "retry: 1000\n\n";
  await reader.began;
  const missed = await missedSince(db, orgId, lastEventId);
  // Changes after this one are sent after what was missed.
  let sent =
    missed === undefined ? await lastChange(db, orgId) : (missed.at(-1)?.changed ?? Number(lastEventId));
  if (missed === undefined) {
    const runs = await begunRuns(db, orgId);
    yield withId(await orgEvent(orgId, keyId, deps), runs.length === 0 ? sent : undefined);
    for (const [index, runId] of runs.entries()) {
      const event = await runEvent(orgId, runId, deps);
      yield withId(event, index === runs.length - 1 ? sent : undefined);
    }
  } else {
    yield await orgEvent(orgId, keyId, deps);
    for (const { runId, changed } of missed) yield withId(await runEvent(orgId, runId, deps), changed);
  }
  while (!signal.aborted) {
    const event = reader.take(sent);
    if (event !== undefined) {
      sent = event.id ?? sent;
      yield event.text;
    } else if (hasLogGrown) {
      hasLogGrown = false;
      yield logEvent;
    } else if (!(await reader.bell.wait(clock, silenceMilliseconds, signal))) {
      yield ": here\n\n";
    }
  }
}

/** @returns the runs that have changed since, the oldest change first; undefined when the reader needs the whole state. */
async function missedSince(
  db: Database,
  orgId: string,
  lastEventId: string | undefined,
): Promise<readonly ChangedRun[] | undefined> {
  if (lastEventId === undefined || !/^\d{1,15}$/.test(lastEventId)) return undefined;
  const after = Number(lastEventId);
  // A number that this database has not given is another service's.
  if (after > (await lastChange(db, orgId))) return undefined;
  const missed = await changedRuns(db, orgId, after, mostMissed + 1);
  return missed.length > mostMissed ? undefined : missed;
}
