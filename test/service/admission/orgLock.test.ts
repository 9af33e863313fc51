import assert from "node:assert/strict";
import fc from "fast-check";
import { sql } from "kysely";
import { countSlots } from "../../../src/service/admission/slots.ts";
import type { Database, Write } from "../../../src/service/store/tables.ts";
import { PostgresAdmission } from "../../../src/team/admission/postgresAdmission.ts";
import { postgresFolder } from "../../postgres/installPostgres.ts";
import { databasesForSuite } from "../../postgres/lentDatabases.ts";
import { until } from "../../until.ts";
import { startedServers } from "../startedCores.ts";

describe("the lock of an org on PostgreSQL", () => {
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  const lend = databasesForSuite(native);

  it("lets the checks behind it read what was committed while it was waited for; one in its own statement can't", async () => {
    await using servers = await startedServers(await lend(), "2026-03-04T12:00:00Z", 1);
    const { db } = servers;
    const store = new PostgresAdmission(() => undefined);
    const counts = fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 3 });
    let orgs = 0;
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 2 }), counts, async (before, meanwhile) => {
        const { orgId } = await servers.key(`org ${orgs++}`, { parallelRuns: 100 });
        await insertRuns(db, orgId, before);
        const { promise: locked, resolve: lock } = Promise.withResolvers<void>();
        const { promise: held, resolve: unlock } = Promise.withResolvers<void>();
        const holding = db.transaction().execute(async (tx) => {
          await store.lock(tx, orgId);
          lock();
          await held;
          for (const count of meanwhile) await insertRuns(tx, orgId, count);
        });
        await locked;
        const behind = db.transaction().execute(async (tx) => {
          const now = await store.lock(tx, orgId);
          return (await countSlots(tx, orgId, now)).active;
        });
        const inOneStatement = countInLock(db, orgId);
        await until(async () => (await waiting(db)) === 2);
        unlock();
        await holding;
        const after = meanwhile.reduce((sum, count) => sum + count, before);
        assert.deepEqual([await behind, await inOneStatement], [after, before]);
      }),
      { numRuns: 20 },
    );
  });
});

/** As it must not be done. */
async function countInLock(db: Database, orgId: string): Promise<number> {
  const { rows } = await sql<{ active: string | number }>`
    select (select count(*) from runs where org_id = orgs.id and stopped_at is null) as active
    from orgs where id = ${orgId} for update`.execute(db);
  return Number(rows[0]?.active);
}

async function insertRuns(tx: Write | Database, orgId: string, count: number): Promise<void> {
  await sql`
    insert into runs (id, org_id, project, pipeline, actor, runner, status, day, created_at, time_limit_seconds, work, slot)
    select gen_random_uuid()::text, ${orgId}, 'shop', 'hello', 'key', 'runner', 'running', '2026-03-04', 0, 30, '', more +
      (select count(*) from runs where org_id = ${orgId})
    from generate_series(1, ${count}::int) more`.execute(tx);
}

/** How many connections wait for a lock. */
async function waiting(db: Database): Promise<number> {
  const { rows } = await sql`
    select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
    db,
  );
  return rows.length;
}
