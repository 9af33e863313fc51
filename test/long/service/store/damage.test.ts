import assert from "node:assert/strict";
import { copyFile, open, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { serve } from "../../../../src/service/server.ts";
import { migrations } from "../../../../src/service/store/migrations.ts";
import { databaseFile, openDatabase } from "../../../../src/service/store/openDatabase.ts";
import { servedProcess } from "../../../service/servedProcess.ts";
import { ended, programPipeline, untilCancelled } from "../../../service/startedService.ts";
import { buildVersion } from "../../../service/store/versionFile.ts";
import { TemporaryFolder } from "../../../temporaryFolder.ts";

const never = new AbortController().signal;
const pageSize = 4096;
const options = { port: 0, runnerPath: "", env: {}, log: () => {} };

/** A data folder with a database of many pages. */
async function filledFolder() {
  const folder = await TemporaryFolder.make();
  const file = databaseFile(folder.path);
  buildVersion(Math.max(...migrations.keys()), file);
  const sqlite = new DatabaseSync(file);
  sqlite.exec(`insert into steps (run_id, position, name, type, status, started_at, stopped_at, message)
    select runs.id, 90 + value, hex(zeroblob(1000)), 'cli', 'succeeded', 1, 1, null
    from runs, json_each('[0,1,2,3,4,5,6,7,8,9]')`);
  sqlite.close();
  return { folder, file, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

async function overwrite(file: string, from: number, to: number): Promise<void> {
  const handle = await open(file, "r+");
  await handle.write(Buffer.alloc(to - from, "damage "), 0, to - from, from);
  await handle.close();
}

const told = {
  type: "internal",
  message: /^The database .*runs\.db is damaged: /,
  next: /move the file and those beside it .*backup/s,
};

describe("a damaged database", () => {
  it("is told at the start when it is none at all, and left as it is", async () => {
    await using there = await filledFolder();
    await writeFile(there.file, "this is a letter to my aunt, and no database\n".repeat(200));
    const before = await readFile(there.file);
    await assert.rejects(serve({ ...options, folder: there.folder.path }), told);
    assert.deepEqual(await readFile(there.file), before);
  });

  it("is told at the start when it is empty or gone beside its WAL, which stays as it is", async () => {
    for (const empty of [(file: string) => truncate(file), (file: string) => rm(file)]) {
      await using there = await filledFolder();
      await using crashed = await TemporaryFolder.make();
      const db = await openDatabase(there.folder.path);
      await db.updateTable("orgs").set({ tier: "other" }).execute();
      const file = databaseFile(crashed.path);
      for (const end of ["", "-wal"]) await copyFile(`${there.file}${end}`, `${file}${end}`);
      await db.destroy();
      await empty(file);
      const wal = await readFile(`${file}-wal`);
      await assert.rejects(serve({ ...options, folder: crashed.path }), told);
      assert.deepEqual(await readFile(`${file}-wal`), wal);
    }
  });

  it("is told at the start when its first page is damaged", async () => {
    await using there = await filledFolder();
    await overwrite(there.file, 16, 200);
    await assert.rejects(serve({ ...options, folder: there.folder.path }), told);
  });

  it("is told at the start when what the start needs is damaged", async () => {
    await using there = await filledFolder();
    const { size } = await stat(there.file);
    await overwrite(there.file, pageSize, size);
    await assert.rejects(serve({ ...options, folder: there.folder.path }), told);
  });

  it("is told at the start when its end is missing", async () => {
    await using there = await filledFolder();
    await truncate(there.file, 3 * pageSize);
    await assert.rejects(serve({ ...options, folder: there.folder.path }), told);
  });

  it("is told by whatever meets the damage later, and the service goes on answering the rest", async () => {
    await using served = await servedProcess();
    await served.write("quick", programPipeline(""));
    const { client } = await served.member("acme", { parallelRuns: 1, runsPerDay: 50 });
    const run = await client().start({ pipeline: "quick" }, { waitSeconds: 0, idempotencyKey: "a" }, never);
    assert(run.kind === "started");
    await ended(client(), run.run);
    await served.kill();
    // Only the page that the steps are in: nothing of it is read at the start.
    const root = await rootPage(served.data, "steps");
    await overwrite(databaseFile(served.data), (root - 1) * pageSize, root * pageSize);
    await served.start();
    await assert.rejects(client().run(run.run.runId, never), { type: "internal", message: /is damaged/ });
    assert.equal((await client().org(never)).usage.runsToday, 1);
    assert.equal((await client().runs({}, never)).runs[0]?.runId, run.run.runId);
    assert(served.isRunning);
  });

  it("keeps what it can when its WAL is damaged behind a crash, and counts what is there", async () => {
    await using served = await servedProcess();
    await served.write("long", programPipeline(untilCancelled));
    const { client } = await served.member("acme", { parallelRuns: 1, runsPerDay: 50 });
    await client().start({ pipeline: "long" }, { waitSeconds: 0, idempotencyKey: "a" }, never);
    await served.kill();
    // As the crash has left them: the test's own connection tidies up when it is closed.
    const [file, wal] = [databaseFile(served.data), `${databaseFile(served.data)}-wal`];
    const [main, changes] = await Promise.all([readFile(file), readFile(wal)]);
    assert(changes.length > 0, "there is no log of changes");
    await served.db.destroy();
    changes.fill("damage ", Math.floor(changes.length * 0.8));
    await Promise.all([writeFile(file, main), writeFile(wal, changes)]);
    await served.start();
    const db = await openDatabase(served.data);
    const rows = await db.selectFrom("runs").selectAll().execute();
    assert.equal((await client().org(never)).usage.runsToday, rows.length);
    await db.destroy();
    assert(served.isRunning);
  });
});

describe("the WAL, behind a crash", () => {
  /** A data folder as a crash leaves it: the log holds changes of pages that were there before, all of them in the database too. */
  async function crashedFolder(place: number) {
    const there = await filledFolder();
    const sqlite = new DatabaseSync(there.file);
    sqlite.exec("pragma journal_mode = wal; pragma synchronous = off; pragma wal_autocheckpoint = 0");
    const runs = Number(sqlite.prepare("select count(*) as runs from runs").get()?.["runs"]);
    const insert =
      sqlite.prepare(`insert into steps (run_id, position, name, type, status, started_at, stopped_at, message)
      select id, ?, hex(zeroblob(300)), 'cli', 'succeeded', 1, 1, null from runs`);
    for (let count = 0; count < 200; count++) insert.run(1_000 + count);
    sqlite.exec("pragma wal_checkpoint(truncate)");
    // Rows that were there get longer, so that pages all over the table are split and linked anew.
    const change = sqlite.prepare("update steps set name = hex(zeroblob(1500)) where position = ?");
    for (let count = 0; count < 100; count++) change.run(1_000 + ((count * 37) % 200));
    sqlite.exec("pragma wal_checkpoint(passive)");
    const files = await Promise.all(["", "-wal", "-shm"].map((end) => readFile(there.file + end)));
    sqlite.close();
    const [main = Buffer.alloc(0), changes = Buffer.alloc(0), index = Buffer.alloc(0)] = files;
    const put = async (damaged: Buffer, withIndex = true) => {
      await writeFile(there.file, main);
      await writeFile(`${there.file}-wal`, damaged);
      if (withIndex) await writeFile(`${there.file}-shm`, index);
    };
    const at = Math.floor(changes.length * place);
    return Object.assign(there, { main, changes, at, put, runs });
  }

  const serveThere = (folder: string) => serve({ ...options, folder });

  /** It serves, and is stopped. */
  async function stopped(serving: ReturnType<typeof serve>): Promise<void> {
    const served = await serving;
    assert(served !== "taken");
    await served.stop();
  }

  it("is refused where it was damaged so that old pages would stand among new ones, and left as it is", async () => {
    for (const place of [0.2, 0.5, 0.8]) {
      await using there = await crashedFolder(place);
      const damaged = Buffer.from(there.changes);
      damaged.fill("damage ", there.at, there.at + 40);
      await there.put(damaged);
      await assert.rejects(serveThere(there.folder.path), told);
      // So is it by a command that makes a key meanwhile, which would be the first to open it.
      await assert.rejects(openDatabase(there.folder.path), told);
      assert.deepEqual(await readFile(there.file), there.main);
      assert.deepEqual(await readFile(`${there.file}-wal`), damaged);
    }
  });

  it("is refused also where its index is gone", async () => {
    for (const place of [0.1, 0.9]) {
      await using there = await crashedFolder(place);
      const damaged = Buffer.from(there.changes);
      damaged.fill("damage ", there.at, there.at + 40);
      await there.put(damaged, false);
      await assert.rejects(serveThere(there.folder.path), told);
      assert.deepEqual(await readFile(there.file), there.main);
    }
  });

  it("is refused where its end is missing, also when what is left of it is whole", async () => {
    await using there = await crashedFolder(0.5);
    const frame = pageSize + 24;
    const whole = 32 + Math.floor((there.at - 32) / frame) * frame;
    await there.put(there.changes.subarray(0, whole));
    await assert.rejects(serveThere(there.folder.path), told);
  });

  it("is read when nothing is wrong with it, and when the crash has left something behind it that is no write", async () => {
    const frame = pageSize + 24;
    for (const behind of [
      () => Buffer.alloc(0),
      (changes: Buffer) => changes.subarray(-frame).subarray(0, 2_000),
      () => Buffer.alloc(9_000),
      () => Buffer.alloc(3 * frame, "damage "),
      // As where an older, longer log was written over.
      (changes: Buffer) => changes.subarray(-frame),
    ]) {
      await using there = await crashedFolder(0);
      await there.put(Buffer.concat([there.changes, behind(there.changes)]));
      await stopped(serveThere(there.folder.path));
    }
  });

  it("is read also where its index is gone or damaged", async () => {
    for (const spoil of [rm, (index: string) => writeFile(index, "damage ".repeat(5_000))]) {
      await using there = await crashedFolder(0);
      await there.put(there.changes);
      await spoil(`${there.file}-shm`);
      await stopped(serveThere(there.folder.path));
      const sqlite = new DatabaseSync(there.file);
      const count = sqlite.prepare("select count(*) as count from steps where length(name) = 3000").get();
      assert.equal(count?.["count"], 100 * there.runs);
      sqlite.close();
    }
  });

  it("is looked at only where a service has not closed its database", async () => {
    await using served = await servedProcess();
    await served.write("quick", programPipeline(""));
    const { client } = await served.member("acme", { parallelRuns: 1, runsPerDay: 50 });
    await client().start({ pipeline: "quick" }, { waitSeconds: 0, idempotencyKey: "a" }, never);
    await served.db.destroy();
    await served.kill();
    const isChecked = async () => {
      const logged: string[] = [];
      const log = (_: unknown, message: string) => logged.push(message);
      await stopped(serve({ ...options, log, folder: served.data }));
      return logged.includes("the database was not closed: it is checked");
    };
    assert.equal(await isChecked(), true);
    assert.equal(await isChecked(), false);
  });

  it("is not taken for damaged because another process writes meanwhile", async () => {
    await using there = await filledFolder();
    const other = new DatabaseSync(there.file);
    other.exec("pragma journal_mode = wal");
    for (const write of [
      "update runs set reason = 'changed'; pragma wal_checkpoint(passive)",
      "begin; update runs set reason = 'not committed'",
    ]) {
      other.exec(write);
      await (await openDatabase(there.folder.path)).destroy();
    }
    other.close();
  });
});

async function rootPage(folder: string, table: string): Promise<number> {
  const sqlite = new DatabaseSync(databaseFile(folder));
  const row = sqlite.prepare("select rootpage from sqlite_schema where name = ?").get(table);
  sqlite.exec("pragma wal_checkpoint(truncate)");
  sqlite.close();
  return Number(row?.["rootpage"]);
}
