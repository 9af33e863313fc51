import assert from "node:assert/strict";
import { sql } from "kysely";
import { openPostgres } from "../../../src/team/store/openPostgres.ts";
import { PostgresWriter } from "../../../src/team/store/postgresWriter.ts";
import { postgresFolder } from "../../postgres/installPostgres.ts";
import { databasesForSuite } from "../../postgres/lentDatabases.ts";

describe("the writer on PostgreSQL", () => {
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  const lend = databasesForSuite(native);

  it("reads what was committed while it waited for a lock, whatever the database's default is", async () => {
    await using lent = await lend();
    const { db } = await openPostgres(
      `${lent.url}%20-c%20default_transaction_isolation%3Dserializable`,
      () => {},
    );
    const writer = new PostgresWriter(db);
    const level = sql<{ level: string }>`select current_setting('transaction_isolation') as level`;
    const inTransaction = await writer.write((tx) => level.execute(tx));
    const alone = await level.execute(db);
    await db.destroy();
    assert.deepEqual(
      [...inTransaction.rows, ...alone.rows],
      [{ level: "read committed" }, { level: "read committed" }],
    );
  });

  it("prepares a statement, but none for each length of a long list", async () => {
    await using lent = await lend();
    const { db } = await openPostgres(lent.url, () => {});
    const prepared = await db.transaction().execute(async (tx) => {
      const named = async (count: number) => {
        const ids = Array.from({ length: count }, (_, at) => `org_${at}`);
        await tx.selectFrom("orgs").select("id").where("id", "in", ids).execute();
        const { rows } = await sql<{ count: string }>`select count(*) from pg_prepared_statements`.execute(
          tx,
        );
        return Number(rows[0]?.count);
      };
      return [await named(2), await named(3), await named(500), await named(501)];
    });
    await db.destroy();
    const [before = 0] = prepared;
    assert.deepEqual(prepared, [before, before + 1, before + 1, before + 1]);
  });
});
