import { sql } from "kysely";
import { utcDay } from "../../contract/limits.ts";
import { repeat } from "../../machine/clock.ts";
import type { StoreDeps } from "../../service/store/storeDeps.ts";
import type { Database } from "../../service/store/tables.ts";
import type { PostgresBus } from "../store/postgresBus.ts";
import { endOverdue, overdueRuns } from "../store/work.ts";
import type { SharedAdmission } from "./sharedAdmission.ts";

export interface OtherServersDeps extends Pick<StoreDeps, "db" | "clock" | "log"> {
  readonly admission: Pick<SharedAdmission, "tickets" | "claim" | "reenter" | "release">;
  readonly bus: Pick<PostgresBus, "subscribeToAll" | "emit">;
  /** Identifies this start of the server. */
  readonly holder: string;
}

/** How often a server checks the queue, in milliseconds. */
const roundMilliseconds = 250;

/**
 * What a server does for its waiters and for what others have left. It claims the runs that others have granted to its
 * waiters, and puts a waiter that others took for dead back in its place. It ends runs that were granted and never claimed, or
 * whose runner is gone, and decides again where a request waits although a slot is free or no run is left today.
 */
export function followOtherServers(deps: OtherServersDeps): () => Promise<void> {
  const { admission, bus, clock, log } = deps;
  /** The decisions under way, by org: an org whose lock is taken holds up no other. */
  const deciding = new Map<string, Promise<void>>();
  const logged = (error: unknown) =>
    log("error", "the queue could not be looked after, trying again", { error });
  // Logged once per outage: a database may be away for hours.
  let isFailing = false;
  const rounds = repeat(clock, roundMilliseconds, async () => {
    let decisions: readonly OpenDecision[] = [];
    try {
      decisions = await openDecisions(deps);
      isFailing = false;
    } catch (error) {
      if (!isFailing) logged(error);
      isFailing = true;
    }
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

/** Claims what this server's waiters were granted. @returns what is left to be decided, under the locks of the orgs. */
async function openDecisions(deps: OtherServersDeps): Promise<readonly OpenDecision[]> {
  const { db, admission, holder } = deps;
  const open: OpenDecision[] = [];
  const own = admission.tickets();
  if (own.length > 0) {
    // First of all: somebody waits for it.
    await admission.claim();
    const queued = await queuedTickets(db, holder);
    const decided = own.filter(({ ticket }) => !queued.has(ticket));
    // A run may have been granted since the first claim.
    if (decided.length > 0) await admission.claim();
    for (const { orgId, ticket } of decided) open.push({ orgId, decide: () => admission.reenter(ticket) });
  }
  // A caller may have left while the database was away, or the org's limits have changed.
  for (const orgId of await orgsToReview(db, holder, utcDay(deps.clock.now()))) {
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

async function queuedTickets(db: Database, holder: string): Promise<ReadonlySet<string>> {
  const rows = await db.selectFrom("waiters").select("ticket").where("holder", "=", holder).execute();
  return new Set(rows.map(({ ticket }) => ticket));
}

/** The orgs in which a server's waiters wait in vain: a slot is free, or the day's runs are used up. */
async function orgsToReview(db: Database, holder: string, day: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from orgs where id in (select org_id from waiters where holder = ${holder}) and (
      (select count(*) from runs where org_id = orgs.id and stopped_at is null) < parallel_runs or
      (select count(*) from runs where org_id = orgs.id and day = ${day}) >= runs_per_day)`.execute(db);
  return rows.map((row) => row.id);
}
