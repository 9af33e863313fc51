import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { findCaller } from "../../../src/service/store/keys.ts";
import { migrate, migrations } from "../../../src/service/store/migrations.ts";
import { databaseFile, openDatabase } from "../../../src/service/store/openDatabase.ts";
import { readOrg } from "../../../src/service/store/orgs.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { hasStarted, quiet, startedCore } from "../startedCore.ts";
import { buildVersion, type Row, readDatabase, versionFile } from "./versionFile.ts";

const keys = {
  machine: "key_01jnf2q0000000000000000000",
  member: "key_01jnf2q0000000000000000001",
  revoked: "key_01jnf2q0000000000000000002",
  memberOfOther: "key_01jnf2q0000000000000000003",
} as const;
const noon = "2026-03-04T12:00:00Z";
const newest = Math.max(...migrations.keys());

/** Whether a row is still there, whatever columns it has got besides. */
function isKept(row: Row, rows: readonly Row[]): boolean {
  return rows.some((other) => Object.entries(row).every(([column, value]) => other[column] === value));
}

/** The definitions of tables and indexes, however they are written. */
function shapeOf(schema: readonly string[]): readonly string[] {
  return schema.map((definition) => definition.replaceAll(/["\s]/g, "")).sort();
}

describe("migrations", () => {
  it("have a database of every version to be tested with, which `node scripts/newDatabaseVersion.ts` writes", () => {
    const known = Array.from({ length: 100 }, (_, version) => version).filter((version) =>
      existsSync(versionFile(version)),
    );
    assert.deepEqual(known, [...migrations.keys()]);
  });

  it("make of a new database what the newest version's is", async () => {
    await using fresh = await TemporaryFolder.make();
    await using kept = await TemporaryFolder.make();
    await (await openDatabase(fresh.path)).destroy();
    buildVersion(newest, databaseFile(kept.path));
    const { schema, version } = readDatabase(databaseFile(fresh.path));
    assert.deepEqual(shapeOf(schema), shapeOf(readDatabase(databaseFile(kept.path)).schema));
    assert.equal(version, newest);
  });

  for (const version of migrations.keys()) {
    it(`bring a database of version ${version} here and lose nothing of it`, async () => {
      await using folder = await TemporaryFolder.make();
      await using fresh = await TemporaryFolder.make();
      await (await openDatabase(fresh.path)).destroy();
      const file = databaseFile(folder.path);
      buildVersion(version, file);
      const before = readDatabase(file);
      const db = await openDatabase(folder.path);
      const after = readDatabase(file);
      assert.equal(after.version, newest);
      assert.deepEqual(shapeOf(after.schema), shapeOf(readDatabase(databaseFile(fresh.path)).schema));
      for (const [table, rows] of before.rows) {
        assert.equal(after.rows.get(table)?.length, rows.length, table);
        for (const row of rows)
          assert(isKept(row, after.rows.get(table) ?? []), `lost of ${table}: ${row["id"]}`);
      }
      const caller = await findCaller(db, versionSecret(keys.member));
      assert.equal(caller?.role, "member");
      assert.equal((await findCaller(db, versionSecret(keys.machine)))?.role, "owner");
      assert.equal(await findCaller(db, versionSecret(keys.revoked)), undefined);
      assert(caller !== undefined);
      const org = await readOrg(db, caller, Date.parse(noon));
      assert.deepEqual([org.usage.runsToday, org.limits.parallelRuns], [5, 1]);
      await db.destroy();
    });

    it(`let a service start on a database of version ${version}: active runs are lost, the rest goes on`, async () => {
      await using core = await startedCore(noon, (folder) => buildVersion(version, databaseFile(folder)));
      const rows = await core.rows();
      assert.equal(rows.filter(({ stopped_at }) => stopped_at === null).length, 0);
      assert.equal(rows.filter(({ status }) => status === "lost").length, 4);
      const [one, other] = await Promise.all(
        [keys.member, keys.memberOfOther].map((id) => findCaller(core.db, versionSecret(id))),
      );
      assert(one !== undefined && other !== undefined);
      assert.deepEqual([await core.used(one), await core.used(other)], [5, 2]);
      const newest = rows.at(-1)?.id ?? "";
      const starts = [one, other, other].map((caller) => core.ask(caller, 0));
      const repeated = core.ask(one, 0, { idempotencyKey: "wish-3", name: "nightly" });
      await quiet();
      assert(starts.every(hasStarted));
      assert.equal(repeated.outcome?.kind, "repeated");
      assert((await core.rows()).slice(-3).every(({ id }) => id > newest));
      assert.deepEqual([await core.used(one), await core.used(other)], [6, 4]);
    });
  }

  it("refuse a database that a newer version has written, and leave it as it is", async () => {
    await using folder = await TemporaryFolder.make();
    const file = databaseFile(folder.path);
    buildVersion(newest, file);
    const sqlite = new DatabaseSync(file);
    sqlite.exec("alter table runs add column colour text; pragma user_version = 999");
    sqlite.close();
    const before = await readFile(file);
    await assert.rejects(openDatabase(folder.path), {
      type: "internal",
      message: /written by a newer Pipeline Runs: its tables are of version 999, this program knows \d+/,
      next: /^Update Pipeline Runs/,
    });
    assert.deepEqual(await readFile(file), before);
  });

  it("refuse a database of a version that was never released, and leave it as it is", async () => {
    await using folder = await TemporaryFolder.make();
    const file = databaseFile(folder.path);
    buildVersion(newest, file);
    const sqlite = new DatabaseSync(file);
    sqlite.exec("pragma user_version = 11");
    sqlite.close();
    const before = await readFile(file);
    await assert.rejects(openDatabase(folder.path), {
      type: "internal",
      message: /written by a Pipeline Runs that was never released: its tables are of version 11\./,
      next: /^Name another folder with PIPELINE_DATA_DIR, or remove the file runs\.db/,
    });
    assert.deepEqual(await readFile(file), before);
  });

  it("leave the old version whole when a step fails in the middle", async () => {
    await using folder = await TemporaryFolder.make();
    const file = databaseFile(folder.path);
    buildVersion(1, file);
    const db = await openDatabase(folder.path);
    const before = readDatabase(file);
    const failing = new Map([
      ...migrations,
      [newest + 1, "alter table runs add column colour text; delete from steps"],
      [newest + 2, "insert into no_such_table values (1)"],
    ]);
    await assert.rejects(migrate(db, failing), /no such table/);
    await db.destroy();
    assert.deepEqual(readDatabase(file), before);
    await (await openDatabase(folder.path)).destroy();
  });
});

/** The secret of one of the versions' keys: made up here, so that no file holds anything that looks like one. */
function versionSecret(keyId: string): string {
  return `plr_${keyId.slice("key_".length)}_${"A".repeat(43)}`;
}
