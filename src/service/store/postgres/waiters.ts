import { sql } from "kysely";
import { removeRun, stopRun } from "../runs.ts";
import type { Database, Write } from "../tables.ts";
import { databaseNow } from "./databaseClock.ts";
import { isJustStarted } from "./servers.ts";

/** The tickets of a server's waiters in the queue. */
export async function queuedTickets(db: Database, holder: string): Promise<ReadonlySet<string>> {
  const rows = await db.selectFrom("waiters").select("ticket").where("holder", "=", holder).execute();
  return new Set(rows.map(({ ticket }) => ticket));
}

/** The orgs in which a server's waiters wait although a slot is free. */
export async function orgsWithFreeSlots(db: Database, holder: string): Promise<string[]> {
  const { rows } = await sql<{ org_id: string }>`
    select distinct org_id from waiters where holder = ${holder} and
      (select count(*) from runs where runs.org_id = waiters.org_id and stopped_at is null) <
      (select parallel_runs from orgs where id = waiters.org_id)`.execute(db);
  return rows.map((row) => row.org_id);
}

/**
 * The granted runs whose server has died before their caller had the reply, in every org. None just after a restart of the
 * database, when no server has had the time yet to claim any.
 */
export async function unlaunchedRuns(
  db: Database,
): Promise<readonly { readonly runId: string; readonly orgId: string }[]> {
  const { rows } = await sql<{ id: string; org_id: string }>`
    select id, org_id from runs
    where stopped_at is null and launched_at is null and lease_until < ${databaseNow}
      and not ${isJustStarted}`.execute(db);
  return rows.map((row) => ({ runId: row.id, orgId: row.org_id }));
}

/**
 * Ends a run that its server has not launched in time, behind the org's lock and the run's: a claim locks only the run.
 * One that no server has claimed goes without a trace. Of any other the caller may have been told, so it stays, as `lost`.
 */
export async function endUnlaunched(tx: Write, runId: string, now: number): Promise<void> {
  const { rows } = await sql<{ ticket: string | null }>`
    select ticket from runs where id = ${runId} and stopped_at is null and launched_at is null
      and lease_until < ${databaseNow} for update`.execute(tx);
  const [row] = rows;
  if (row === undefined) return;
  if (row.ticket !== null) await removeRun(tx, runId);
  else await stopRun(tx, runId, { status: "lost", reason: "its server died before it began" }, now);
}
