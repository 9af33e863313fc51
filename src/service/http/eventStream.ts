import type { Context } from "hono";
import { toWire } from "../../contract/wire.ts";
import { Bell } from "../bell.ts";
import type { Changes } from "../changes.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { begunRuns, changedRuns, lastChange } from "../store/changedRuns.ts";
import type { Caller } from "../store/keys.ts";
import { readOrg } from "../store/orgs.ts";
import { readRun } from "../store/runs.ts";
import type { Database } from "../store/tables.ts";
import type { AppEnv } from "./appEnv.ts";
import { liveReply, silenceMilliseconds } from "./liveReply.ts";

/** A reader that has missed more runs than this is told the state anew, as one that comes for the first time. */
const mostMissed = 1000;
const atOnce = 100;

interface StreamDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly changes: Changes;
  readonly log: Log;
}

/**
 * `GET /api/events`: the org and its runs in work as they are, then each change as it comes. An event's id is the number
 * of a change in the org, kept with the run: a reader that comes back with it gets every run that has changed since, also
 * when the service was started anew meanwhile. An event without an id is not yet all of what was so at its moment.
 */
export function eventStream<Env extends AppEnv>(
  context: Context<Env>,
  caller: Caller,
  deps: StreamDeps,
): Response {
  const lastEventId = context.req.header("last-event-id");
  return liveReply(context, {
    clock: deps.clock,
    log: deps.log,
    contentType: "text/event-stream",
    pieces: (signal) => eventPieces(caller, lastEventId, deps, signal),
  });
}

async function* eventPieces(
  caller: Caller,
  lastEventId: string | undefined,
  { db, clock, changes }: StreamDeps,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const bell = new Bell();
  let orgChanged = false;
  const stopListening = changes.listen(caller.orgId, ({ kind }) => {
    orgChanged ||= kind === "org";
    bell.ring();
  });
  const org = async () => eventOf("org", await readOrg(db, caller, clock.now()));
  try {
    yield "retry: 1000\n\n";
    const resumed = await resumeAfter(db, caller.orgId, lastEventId);
    let told = resumed ?? (await lastChange(db, caller.orgId));
    if (resumed === undefined) {
      const runs = await begunRuns(db, caller.orgId);
      yield withId(await org(), runs.length === 0 ? told : undefined);
      for (const [index, runId] of runs.entries()) {
        const event = await runEvent(db, caller, runId);
        yield withId(event, index === runs.length - 1 ? told : undefined);
      }
    } else yield await org();
    while (!signal.aborted) {
      if (orgChanged) {
        orgChanged = false;
        yield await org();
      }
      const changed = await changedRuns(db, caller.orgId, told, atOnce);
      for (const run of changed) {
        told = run.changed;
        yield withId(await runEvent(db, caller, run.runId), told);
      }
      if (changed.length > 0 || orgChanged) continue;
      if (!(await bell.wait(clock, silenceMilliseconds, signal))) yield ": here\n\n";
    }
  } finally {
    stopListening();
  }
}

/** @returns the number to go on behind; undefined when the reader has to be told all anew. */
async function resumeAfter(
  db: Database,
  orgId: string,
  lastEventId: string | undefined,
): Promise<number | undefined> {
  if (lastEventId === undefined || !/^\d{1,15}$/.test(lastEventId)) return undefined;
  const after = Number(lastEventId);
  // A number that this database has not given yet is another's.
  if (after > (await lastChange(db, orgId))) return undefined;
  const missed = await changedRuns(db, orgId, after, mostMissed + 1);
  return missed.length > mostMissed ? undefined : after;
}

async function runEvent(db: Database, caller: Caller, runId: string): Promise<string> {
  const run = await readRun(db, caller, runId);
  return run === undefined ? "" : eventOf("run", run);
}

function eventOf(name: "org" | "run", value: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(toWire(value))}\n\n`;
}

/** An id that comes without an event still counts for who reads the stream (HTML, "server-sent events"). */
function withId(event: string, id: number | undefined): string {
  if (id === undefined) return event;
  return `id: ${id}\n${event === "" ? "\n" : event}`;
}
