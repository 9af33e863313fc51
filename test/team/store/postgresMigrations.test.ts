import assert from "node:assert/strict";
import { Kysely, PostgresDialect, sql } from "kysely";
import pg from "pg";
import type { Tables } from "../../../src/service/store/tables.ts";
import { migratePostgres } from "../../../src/team/store/migrations.ts";
import { postgresFolder } from "../../postgres/installPostgres.ts";
import { databasesForSuite } from "../../postgres/lentDatabases.ts";

describe("the tables on PostgreSQL", () => {
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  const lend = databasesForSuite(native);

  /** An empty database, which is a schema of its own beside the lent one's tables. */
  async function emptyDatabase() {
    const lent = await lend();
    await sql`create schema empty`.execute(lent.db);
    const url = new URL(lent.url);
    url.searchParams.set("options", "-c search_path=empty");
    const db = new Kysely<Tables>({
      dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url.href }) }),
    });
    return {
      db,
      async [Symbol.asyncDispose]() {
        await db.destroy();
        await sql`drop schema empty cascade`.execute(lent.db);
        await lent[Symbol.asyncDispose]();
      },
    };
  }

  it("are made once by servers that start at once", async () => {
    await using empty = await emptyDatabase();
    const { db } = empty;
    await Promise.all([migratePostgres(db), migratePostgres(db)]);
    await sql`insert into orgs values ('org_1', 'acme', 'free', 1, 50, 0)`.execute(db);
    await migratePostgres(db);
    const { rows } =
      await sql`select version, (select count(*) from orgs) as orgs from schema_version`.execute(db);
    assert.deepEqual(rows, [{ version: 5, orgs: "1" }]);
  });

  it("hold nobody up while somebody else uses one of them, and are changed once that is over", async () => {
    await using empty = await emptyDatabase();
    const { db } = empty;
    await migratePostgres(db);
    // As the version before left them.
    await sql`drop table object_store, moved_runs`.execute(db);
    await sql`alter table servers drop column object_store`.execute(db);
    await sql`update schema_version set version = 4`.execute(db);
    await db.transaction().execute(async (tx) => {
      await sql`select id from servers`.execute(tx);
      await assert.rejects(migratePostgres(db), /lock timeout/);
      await sql`update servers set alive_until = 0`.execute(db);
    });
    await migratePostgres(db);
    await sql`select object_store from servers`.execute(db);
  });

  it("are left alone by a program that is older than they are", async () => {
    await using empty = await emptyDatabase();
    await migratePostgres(empty.db);
    await sql`update schema_version set version = 1000`.execute(empty.db);
    await assert.rejects(migratePostgres(empty.db), /written by a newer Pipeline Runs/);
  });
});
