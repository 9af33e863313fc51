import { sql } from "kysely";
import { repeat } from "../../machine/bell.ts";
import type { Clock } from "../../machine/clock.ts";
import type { Log } from "../../machine/log.ts";
import type { Database } from "../../service/store/tables.ts";
import type { PostgresBus } from "../store/postgresBus.ts";
import { endOverdue, overdueRuns } from "../store/work.ts";
import type { SharedAdmission } from "./sharedAdmission.ts";

export interface OtherServersDeps {
  readonly db: Database;
  readonly admission: Pick<SharedAdmission, "tickets" | "claim" | "reenter" | "release">;
  readonly bus: Pick<PostgresBus, "subscribeToAll" | "emit">;
  readonly clock: Clock;
  readonly log: Log;
  /** Identifies this start of the server. */
  readonly holder: string;
}

/** How often a server looks after the queue, in milliseconds. */
const roundMilliseconds = 250;

/**
 * What the servers of one database do for each other: those who wait at a dead server are passed over within a second, and
 * every server looks after what the dead have left: a run that was granted and never claimed, one whose runner is gone, a
 * slot that nobody was given. A server that was only slow gets its waiters back into the queue with their tickets, so they
 * lose no place.
 */
export function followOtherServers(deps: OtherServersDeps): () => Promise<void> {
  const { admission, bus, clock, log } = deps;
  /** What is being decided for an org: one whose lock is taken keeps no other waiting. */
  const deciding = new Map<string, Promise<void>>();
  const logged = (error: unknown) =>
    log("error", "the queue could not be looked after, trying again", { error });
  const rounds = repeat(clock, roundMilliseconds, async () => {
    const decisions = await openDecisions(deps).catch((error: unknown) => {
      logged(error);
      return [];
    });
    for (const [orgId, ofOrg] of Map.groupBy(decisions, (decision) => decision.orgId)) {
      if (deciding.has(orgId)) continue;
      const decided = decideAll(ofOrg).catch(logged);
      deciding.set(orgId, decided);
      void decided.then(() => deciding.delete(orgId));
    }
  });
  const unsubscribe = bus.subscribeToAll((orgId, { kind }) => {
    if (kind === "org" && (orgId === "" || admission.tickets(orgId).length > 0)) rounds.soon();
  });
  return async () => {
    unsubscribe();
    await rounds.stop();
    await Promise.all(deciding.values());
  };
}

interface OpenDecision {
  readonly orgId: string;
  readonly decide: () => Promise<void>;
}

async function decideAll(decisions: readonly OpenDecision[]): Promise<void> {
  for (const { decide } of decisions) await decide();
}

/** Claims what this server's waiters were granted. @returns what is left to be decided, behind the locks of the orgs. */
async function openDecisions(deps: OtherServersDeps): Promise<readonly OpenDecision[]> {
  const { db, admission, holder } = deps;
  const open: OpenDecision[] = [];
  const own = admission.tickets();
  if (own.length > 0) {
    // First: whoever was granted a run waits for this.
    await admission.claim();
    const queued = await queuedTickets(db, holder);
    const decided = own.filter(({ ticket }) => !queued.has(ticket));
    // Some may have been granted one since.
    if (decided.length > 0) await admission.claim();
    for (const { orgId, ticket } of decided) open.push({ orgId, decide: () => admission.reenter(ticket) });
  }
  // Also for a row whose caller has left while the database was away: this takes it out of the queue.
  for (const orgId of await orgsWithFreeSlots(db, holder)) {
    open.push({ orgId, decide: () => admission.release(orgId, async () => {}) });
  }
  for (const { runId, orgId } of await overdueRuns(db)) {
    open.push({ orgId, decide: () => endRun(orgId, runId, deps) });
  }
  return open;
}

async function endRun(
  orgId: string,
  runId: string,
  { admission, bus, log }: OtherServersDeps,
): Promise<void> {
  if (!(await admission.release(orgId, (tx, now) => endOverdue(tx, runId, now)))) return;
  log("info", "overdue run ended", { runId });
  for (const kind of ["log", "run"] as const) bus.emit(orgId, { kind, runId });
  bus.emit(orgId, { kind: "org" });
}

/** The tickets of a server's waiters in the queue. */
async function queuedTickets(db: Database, holder: string): Promise<ReadonlySet<string>> {
  const rows = await db.selectFrom("waiters").select("ticket").where("holder", "=", holder).execute();
  return new Set(rows.map(({ ticket }) => ticket));
}

/** The orgs in which a server's waiters wait although a slot is free. */
async function orgsWithFreeSlots(db: Database, holder: string): Promise<string[]> {
  const { rows } = await sql<{ org_id: string }>`
    select distinct org_id from waiters where holder = ${holder} and
      (select count(*) from runs where runs.org_id = waiters.org_id and stopped_at is null) <
      (select parallel_runs from orgs where id = waiters.org_id)`.execute(db);
  return rows.map((row) => row.org_id);
}
