import { sql } from "kysely";
import type { Database, Write } from "../tables.ts";
import { databaseNow, restartedAt, waiterMilliseconds } from "./postgresAdmission.ts";

/** How long the rows of a dead server's waiters are kept, in milliseconds; they are passed over long before. */
const keptMilliseconds = 60_000;

/** Says that a server's waiters live. @returns their tickets. */
export async function aliveTickets(db: Database, holder: string): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ ticket: string }>`
    update waiters set alive_until = ${databaseNow} + ${waiterMilliseconds}
    where holder = ${holder} returning ticket`.execute(db);
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
export async function unclaimedRuns(
  db: Database,
): Promise<readonly { readonly runId: string; readonly orgId: string }[]> {
  const { rows } = await sql<{ id: string; org_id: string }>`
    select id, org_id from runs
    where stopped_at is null and launched_at is null and lease_until < ${databaseNow}
      and ${restartedAt} < ${databaseNow} - ${2 * waiterMilliseconds}`.execute(db);
  await sql`delete from waiters where alive_until < ${databaseNow} - ${keptMilliseconds}`.execute(db);
  return rows.map((row) => ({ runId: row.id, orgId: row.org_id }));
}

/** Removes a run that is still unclaimed, behind the org's lock. */
export async function removeUnclaimed(tx: Write, runId: string): Promise<void> {
  await sql`
    delete from runs where id = ${runId} and stopped_at is null and launched_at is null
      and lease_until < ${databaseNow}`.execute(tx);
}
