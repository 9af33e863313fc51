import type { Clock } from "../../contract/clock.ts";
import { repeat } from "../bell.ts";
import type { Log } from "../log.ts";
import type { PostgresBus } from "../store/postgres/postgresBus.ts";
import {
  endUnlaunched,
  orgsWithFreeSlots,
  queuedTickets,
  unlaunchedRuns,
} from "../store/postgres/waiters.ts";
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

/** How often a server looks after the queue, in milliseconds. */
const roundMilliseconds = 250;

/**
 * What the servers of one database owe each other's waiters: those of a dead server are passed over within a second, and
 * whoever waits looks after what it has left: a run that it was granted and never claimed, a slot that nobody was given. A
 * server that was only slow gets its waiters back into the queue with their tickets, so they lose no place.
 */
export function followOtherServers(deps: OtherServersDeps): () => Promise<void> {
  const { admission, bus, clock, log } = deps;
  const looking = repeat(clock, roundMilliseconds, async () => {
    await round(deps).catch((error: unknown) =>
      log("error", "the queue could not be looked after, trying again", { error }),
    );
  });
  const unsubscribe = bus.subscribeToAll((orgId, { kind }) => {
    if (kind === "org" && (orgId === "" || admission.tickets(orgId).length > 0)) looking.soon();
  });
  return () => {
    unsubscribe();
    return looking.stop();
  };
}

async function round({ db, admission, bus, clock, holder }: OtherServersDeps): Promise<void> {
  const own = admission.tickets();
  if (own.length > 0) {
    // First: whoever was granted a run waits for this.
    await admission.claim();
    const queued = await queuedTickets(db, holder);
    const decided = own.filter(({ ticket }) => !queued.has(ticket));
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
