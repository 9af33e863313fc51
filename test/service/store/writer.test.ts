import assert from "node:assert/strict";
import { sql } from "kysely";
import { openDatabase } from "../../../src/service/store/openDatabase.ts";
import type { Write } from "../../../src/service/store/tables.ts";
import { sqliteWriter } from "../../../src/service/store/writer.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { hasStarted, quiet, startedCore } from "../startedCore.ts";

/** A writer on a database that holds a table of names, none of them twice. */
async function openWriter() {
  const folder = await TemporaryFolder.make();
  const db = await openDatabase(folder.path);
  await sql`create table names (name text primary key)`.execute(db);
  const happened: string[] = [];
  const clock = new FakeClock("2026-03-04T12:00:00Z");
  const writer = sqliteWriter(db, { onCommit: (writes) => happened.push(`commit of ${writes}`), clock });
  return {
    db,
    clock,
    writer,
    happened,
    put: (name: string) =>
      writer.write(async (tx) => {
        await put(tx, name);
        return name;
      }),
    async names() {
      const { rows } = await sql<{ name: string }>`select name from names order by name`.execute(db);
      return rows.map(({ name }) => name);
    },
    async [Symbol.asyncDispose]() {
      await writer.close();
      await db.destroy();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function put(tx: Write, name: string): Promise<void> {
  await sql`insert into names values (${name})`.execute(tx);
}

describe("the writer", () => {
  it("starts the runs of 500 orgs that ask at once by few commits", async () => {
    await using core = await startedCore("2026-03-04T12:00:00Z");
    const keys = [];
    for (let count = 0; count < 500; count++) keys.push(await core.key(`org-${count}`));
    const before = core.commits;
    const starts = keys.map((key) => core.ask(key, 0, { isTold: false }));
    while (starts.some(({ outcome, left }) => outcome === undefined && left === undefined)) await quiet();
    assert.equal(starts.filter(hasStarted).length, 500);
    assert(core.commits - before <= 5, `${core.commits - before} commits`);
    assert.equal((await core.rows()).length, 500);
  });

  it("tells its callers only after the commit, in the order in which they asked", async () => {
    await using store = await openWriter();
    await Promise.all(
      ["a", "b", "c"].map(async (name) => store.happened.push(`told ${await store.put(name)}`)),
    );
    assert.deepEqual(store.happened, ["commit of 3", "told a", "told b", "told c"]);
  });

  it("lets a write see what those before it in the same commit have written", async () => {
    await using store = await openWriter();
    const [, seen] = await Promise.all([
      store.put("a"),
      store.writer.write(async (tx) => (await sql`select name from names`.execute(tx)).rows.length),
    ]);
    assert.equal(seen, 1);
    assert.deepEqual(store.happened, ["commit of 2"]);
  });

  it("undoes a write that fails alone, also what it had written before it failed", async () => {
    await using store = await openWriter();
    const outcomes = await Promise.allSettled([
      store.put("a"),
      store.writer.write(async (tx) => {
        await put(tx, "half");
        await put(tx, "a");
      }),
      store.writer.write(async (tx) => {
        await put(tx, "other half");
        throw new Error("not so");
      }),
      store.put("b"),
    ]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "rejected", "rejected", "fulfilled"],
    );
    assert.deepEqual(await store.names(), ["a", "b"]);
  });

  it("fails every write of a commit that SQLite has taken back by itself, and keeps none", async () => {
    await using store = await openWriter();
    await store.put("there");
    const outcomes = await Promise.allSettled([
      store.put("a"),
      store.writer.write((tx) => sql`insert or rollback into names values ('there')`.execute(tx)),
      store.put("b"),
    ]);
    for (const outcome of outcomes) {
      assert(outcome.status === "rejected");
      assert.match(String(outcome.reason), /UNIQUE/);
    }
    assert.deepEqual(await store.names(), ["there"]);
    assert.equal(await store.put("after"), "after");
  });

  it("fails every write of a commit that fails, and keeps none", async () => {
    await using store = await openWriter();
    const outcomes = await Promise.allSettled([
      store.put("a"),
      store.writer.write(async (tx) => {
        await sql`pragma defer_foreign_keys = on`.execute(tx);
        await tx.insertInto("projects").values({ org_id: "org_none", name: "shop", root: "/" }).execute();
      }),
      store.put("b"),
    ]);
    for (const outcome of outcomes) {
      assert(outcome.status === "rejected");
      assert.match(String(outcome.reason), /FOREIGN KEY/);
    }
    assert.deepEqual(await store.names(), []);
    assert.equal(await store.put("after"), "after");
  });

  it("writes what was asked before it is closed, and nothing that is asked later", async () => {
    await using store = await openWriter();
    const last = store.put("last");
    await store.writer.close();
    assert.equal(await last, "last");
    await assert.rejects(store.put("late"), { type: "internal", message: /stopping/ });
    assert.deepEqual(await store.names(), ["last"]);
  });
});
