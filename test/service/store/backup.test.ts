import assert from "node:assert/strict";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PipelineError } from "../../../src/contract/errors.ts";
import { backupDatabase } from "../../../src/service/store/backupDatabase.ts";
import { databaseFile, openDatabase } from "../../../src/service/store/openDatabase.ts";
import { itOn } from "../../itOn.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { quiet, startedCore } from "../startedCore.ts";
import { readDatabase } from "./versionFile.ts";

const noon = "2026-03-04T12:00:00Z";

describe("a backup", () => {
  it("holds all that there is, and a service starts on it", async () => {
    await using core = await startedCore(noon);
    await using safe = await TemporaryFolder.make();
    const key = await core.key();
    const held = core.ask(key, 0);
    await quiet();
    assert(held.outcome?.kind === "started");
    await backupDatabase(core.folder, databaseFile(safe.path));
    const [copy, original] = [safe.path, core.folder].map((folder) => {
      const { schema, ...rest } = readDatabase(databaseFile(folder));
      return { ...rest, schema: [...schema].sort() };
    });
    assert.deepEqual(copy, original);
    const restored = await openDatabase(safe.path);
    assert.equal((await restored.selectFrom("runs").selectAll().execute()).length, 1);
    await restored.destroy();
  });

  it("is whole while starts go on beside it: no run without its org, no count that isn't the rows'", async () => {
    await using core = await startedCore(noon);
    await using safe = await TemporaryFolder.make();
    const keys = [];
    for (let count = 0; count < 50; count++) keys.push(await core.key(`org-${count}`));
    for (let round = 0; round < 5; round++) {
      const asked = keys.map((key) => core.ask(key, 120));
      const folder = join(safe.path, String(round));
      await mkdir(folder);
      await backupDatabase(core.folder, databaseFile(folder));
      const copy = await openDatabase(folder);
      const { count } = await copy
        .selectFrom("runs")
        .innerJoin("orgs", "orgs.id", "runs.org_id")
        .select(({ fn }) => fn.countAll<number>().as("count"))
        .executeTakeFirstOrThrow();
      assert.equal(count, (await copy.selectFrom("runs").selectAll().execute()).length);
      await copy.destroy();
      for (const request of asked) request.leave();
      await quiet();
      for (const job of [...core.jobs.values()]) job.end();
      await quiet();
    }
  });

  it("never overwrites a file", async () => {
    await using core = await startedCore(noon);
    await using safe = await TemporaryFolder.make();
    const target = join(safe.path, "mine.db");
    await writeFile(target, "mine");
    await assert.rejects(backupDatabase(core.folder, target), {
      type: "conflict",
      message: `There is something at ${target} already.`,
    });
    assert.equal(await readFile(target, "utf8"), "mine");
    assert.deepEqual(await readdir(safe.path), ["mine.db"]);
  });

  it("lets one of two that go to the same file win, whole, and tells the other", async () => {
    await using core = await startedCore(noon);
    await using safe = await TemporaryFolder.make();
    const target = join(safe.path, "one.db");
    const outcomes = await Promise.allSettled([1, 2].map(() => backupDatabase(core.folder, target)));
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    assert.deepEqual(await readdir(safe.path), ["one.db"]);
    readDatabase(target);
  });

  it("leaves nothing behind when it fails, and makes no database where there is none", async () => {
    await using core = await startedCore(noon);
    await using safe = await TemporaryFolder.make();
    const nowhere = join(safe.path, "no", "folder.db");
    await assert.rejects(backupDatabase(core.folder, nowhere), {
      type: "usage",
      message: /can't be written/,
    });
    await assert.rejects(backupDatabase(safe.path, join(safe.path, "copy.db")), { type: "not-found" });
    await writeFile(
      databaseFile(safe.path),
      "no database at all, but long enough to be read as one\n".repeat(99),
    );
    await assert.rejects(
      backupDatabase(safe.path, join(safe.path, "copy.db")),
      (error) => error instanceof PipelineError && /runs\.db is damaged/.test(error.message),
    );
    assert.deepEqual(await readdir(safe.path), ["runs.db"]);
  });

  itOn("posix", "is for this user's eyes only", async () => {
    await using core = await startedCore(noon);
    await using safe = await TemporaryFolder.make();
    const target = join(safe.path, "one.db");
    await backupDatabase(core.folder, target);
    assert.equal((await stat(target)).mode & 0o777, 0o600);
  });
});
