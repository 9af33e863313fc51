import type { Clock } from "../../contract/clock.ts";
import type { Log } from "../log.ts";
import type { PostgresBus } from "../store/postgres/postgresBus.ts";
import { aliveTickets, endUnlaunched, orgsWithFreeSlots, unlaunchedRuns } from "../store/postgres/waiters.ts";
import type { Database } from "../store/tables.ts";
import type { Admission } from "./admission.ts";

export interface OtherServersDeps {
  readonly db: Database;
  readonly admission: Pick<Admission, "tickets" | "claim" | "askAgain" | "release">;
  readonly bus: Pick<PostgresBus, "subscribeToAll" | "emit">;
  readonly clock: Clock;
  readonly log: Log;
  /** Identifies this start of the server. */
  readonly holder: string;
}

/** How often a server says that its waiters live, and looks after the queue, in milliseconds. */
const roundMilliseconds = 250;

/**
 * What the servers of one database owe each other's waiters: each says again and again that its own live, so that those of
 * a dead server are passed over within a second; and whoever waits looks after what a dead server has left: a run that it
 * was granted and never claimed, a slot that nobody was given. A server that was only slow gets its waiters back into the
 * queue with their tickets, so they lose no place.
 */
export function followOtherServers(deps: OtherServersDeps): () => Promise<void> {
  const { admission, bus, clock, log } = deps;
  let isStopped = false;
  let isAgain = false;
  let working: Promise<void> | undefined;
  const look = () => {
    isAgain = true;
    working ??= (async () => {
      while (isAgain && !isStopped) {
        isAgain = false;
        try {
          await round(deps);
        } catch (error) {
          log("error", "the queue could not be looked after, trying again", { error });
        }
      }
    })().finally(() => {
      working = undefined;
    });
  };
  const unsubscribe = bus.subscribeToAll((orgId, { kind }) => {
    if (kind === "org" && (orgId === "" || admission.tickets(orgId).length > 0)) look();
  });
  let cancelTimer = () => {};
  const next = () => {
    cancelTimer = clock.after(roundMilliseconds, () => {
      next();
      look();
    });
  };
  next();
  return async () => {
    isStopped = true;
    cancelTimer();
    unsubscribe();
    await working;
  };
}

async function round({ db, admission, bus, clock, holder }: OtherServersDeps): Promise<void> {
  const own = admission.tickets();
  if (own.length > 0) {
    // First: whoever was granted a run waits for this.
    await admission.claim();
    const alive = await aliveTickets(db, holder);
    const decided = own.filter(({ ticket }) => !alive.has(ticket));
    // Some may have been granted one since.
    if (decided.length > 0) await admission.claim();
    for (const { ticket } of decided) await admission.askAgain(ticket);
    for (const orgId of await orgsWithFreeSlots(db, holder)) await admission.release(orgId, async () => {});
  }
  for (const { runId, orgId } of await unlaunchedRuns(db)) {
    await admission.release(orgId, (tx) => endUnlaunched(tx, runId, clock.now()));
    bus.emit(orgId, { kind: "run", runId });
    bus.emit(orgId, { kind: "org" });
  }
}
