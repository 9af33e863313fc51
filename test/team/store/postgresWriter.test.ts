import assert from "node:assert/strict";
import { sql } from "kysely";
import { HttpProblem } from "../../../src/service/http/reply.ts";
import { asUnavailable } from "../../../src/service/http/unavailable.ts";
import { OrgBusyError } from "../../../src/service/store/writer.ts";
import { openPostgres } from "../../../src/team/store/openPostgres.ts";
import { PostgresWriter } from "../../../src/team/store/postgresWriter.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { postgresFolder } from "../../postgres/installPostgres.ts";
import { databasesForSuite } from "../../postgres/lentDatabases.ts";

describe("the writer on PostgreSQL", function () {
  this.timeout(60_000);
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  const lend = databasesForSuite(native);

  async function started() {
    const lent = await lend();
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    const writer = new PostgresWriter(lent.db, clock);
    return { ...lent, clock, writer };
  }

  it("lets the writes of an org take turns, in order, and those of others go on", async () => {
    await using store = await started();
    const { writer } = store;
    const done: string[] = [];
    const { promise: first, resolve } = Promise.withResolvers<void>();
    const writes = [
      writer.write(() => first.then(() => done.push("first")), "org_1"),
      writer.write(async () => done.push("second"), "org_1"),
      writer.write(async () => done.push("third"), "org_1"),
    ];
    await writer.write(async () => done.push("of another"), "org_2");
    await writer.write(async () => done.push("of none"));
    resolve();
    await Promise.all(writes);
    assert.deepEqual(done, ["of another", "of none", "first", "second", "third"]);
    assert.equal(store.clock.alarms, 0);
  });

  it("gives a write up that has waited 5 s for its turn, and nobody comes before the one that was first", async () => {
    await using store = await started();
    const { writer } = store;
    const done: string[] = [];
    const { promise: first, resolve } = Promise.withResolvers<void>();
    const writing = writer.write(() => first.then(() => done.push("first")), "org_1");
    const late = assert.rejects(
      writer.write(async () => done.push("late"), "org_1"),
      OrgBusyError,
    );
    store.clock.advance(5_000);
    await late;
    const next = writer.write(async () => done.push("next"), "org_1");
    resolve();
    await Promise.all([writing, next]);
    assert.deepEqual(done, ["first", "next"]);
  });

  it("tells a caller of such a write to try again in a moment", () => {
    // The other is what a standby says of a write, in the moment of a failover.
    const readOnly = Object.assign(new Error("cannot execute UPDATE"), { code: "25006" });
    for (const error of [new OrgBusyError("busy"), readOnly]) {
      const problem = asUnavailable(error, new AbortController().signal);
      assert.ok(problem instanceof HttpProblem);
      assert.deepEqual([problem.status, problem.headers], [503, { "retry-after": "1" }]);
    }
  });

  it("reads what was committed while it waited for a lock, whatever the database's default is", async () => {
    await using lent = await lend();
    const { db } = await openPostgres(
      `${lent.url}%20-c%20default_transaction_isolation%3Dserializable`,
      () => {},
    );
    const writer = new PostgresWriter(db, new FakeClock("2026-03-04T12:00:00Z"));
    const level = sql<{ level: string }>`select current_setting('transaction_isolation') as level`;
    const inTransaction = await writer.write((tx) => level.execute(tx));
    const alone = await level.execute(db);
    await db.destroy();
    assert.deepEqual(
      [...inTransaction.rows, ...alone.rows],
      [{ level: "read committed" }, { level: "read committed" }],
    );
  });
});
