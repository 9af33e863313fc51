import assert from "node:assert/strict";
import { open, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { serve } from "../../../src/service/serve.ts";
import { migrationSteps } from "../../../src/service/store/migrations.ts";
import { databaseFile, openDatabase } from "../../../src/service/store/openDatabase.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { servedProcess } from "../servedProcess.ts";
import { programPipeline, untilCancelled } from "../startedService.ts";
import { buildVersion } from "./versionFile.ts";

const never = new AbortController().signal;
const pageSize = 4096;
const options = { port: 0, runnerPath: "", env: {}, log: () => {} };

/** A data folder with a database of many pages. */
async function filledFolder() {
  const folder = await TemporaryFolder.make();
  const file = databaseFile(folder.path);
  buildVersion(migrationSteps.length, file);
  const sqlite = new DatabaseSync(file);
  sqlite.exec(`insert into steps select runs.id, 90 + value, hex(zeroblob(1000)), 'cli', 'succeeded', 1, 1, null
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
    while ((await client().run(run.run.runId, never)).stoppedAt === undefined);
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

  it("keeps what it can when the log of its last changes is damaged behind a crash, and counts what is there", async () => {
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

async function rootPage(folder: string, table: string): Promise<number> {
  const sqlite = new DatabaseSync(databaseFile(folder));
  const row = sqlite.prepare("select rootpage from sqlite_schema where name = ?").get(table);
  sqlite.exec("pragma wal_checkpoint(truncate)");
  sqlite.close();
  return Number(row?.["rootpage"]);
}
