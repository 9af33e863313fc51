import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { utcDay } from "../../../src/contract/day.ts";
import { CommittedReads } from "../../../src/service/store/committedReads.ts";
import { idMaker } from "../../../src/service/store/ids.ts";
import { createKey } from "../../../src/service/store/keys.ts";
import { databaseFile, openDatabase } from "../../../src/service/store/openDatabase.ts";
import { asOrg, readOrg } from "../../../src/service/store/orgs.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

const noon = Date.parse("2026-03-04T12:00:00Z");
const day = 86_400_000;

/** A database with an org and its key, what reads it, and two that write: the service's connection and another process's. */
async function opened() {
  const folder = await TemporaryFolder.make();
  const db = await openDatabase(folder.path);
  const other = new DatabaseSync(databaseFile(folder.path));
  const makeId = idMaker(() => noon);
  const key = await createKey(db, { orgName: "acme", role: "member" }, { now: () => noon, makeId });
  const reads = new CommittedReads(folder.path);
  const addRun = (to: DatabaseSync, at: number, isInWork: boolean) =>
    to
      .prepare(
        `insert into runs (id, org_id, project, pipeline, actor, runner, status, day, created_at, stopped_at, time_limit_seconds)
           values (?, ?, 'shop', 'hello', ?, 'test', 'running', ?, ?, ?, 30)`,
      )
      .run(makeId("run"), key.orgId, key.keyId, utcDay(at), at, isInWork ? null : at);
  return {
    db,
    other,
    reads,
    key,
    addRun,
    runsToday: (now = noon) => reads.latest().org(key.orgId, now).runs_today,
    async [Symbol.asyncDispose]() {
      reads[Symbol.dispose]();
      other.close();
      await db.destroy();
      await folder[Symbol.asyncDispose]();
    },
  };
}

describe("what is committed", () => {
  it("is told by the first question after another process's commit: a revoked key, a run, another tier", async () => {
    await using store = await opened();
    const { reads, other, key } = store;
    assert.equal(reads.latest().caller(key.secret)?.keyId, key.keyId);
    assert.equal(store.runsToday(), 0);
    assert.equal(reads.latest().placesTaken(key.orgId), 0);
    store.addRun(other, noon, true);
    assert.equal(store.runsToday(), 1);
    assert.equal(reads.latest().placesTaken(key.orgId), 1);
    other.prepare("update orgs set tier = 'team', runs_per_day = 500").run();
    assert.deepEqual(
      [reads.latest().org(key.orgId, noon).tier, reads.latest().org(key.orgId, noon).runs_per_day],
      ["team", 500],
    );
    other.prepare("update keys set revoked_at = ?").run(noon);
    assert.equal(reads.latest().caller(key.secret), undefined);
    other.prepare("update keys set revoked_at = null, role = 'viewer'").run();
    assert.equal(reads.latest().caller(key.secret)?.role, "viewer");
  });

  it("counts the runs of another day from 00:00 UTC on, and of the one before when the clock is set back", async () => {
    await using store = await opened();
    store.addRun(store.other, noon, false);
    const midnight = Date.parse("2026-03-05T00:00:00Z");
    assert.equal(store.runsToday(midnight - 1), 1);
    assert.equal(store.runsToday(midnight), 0);
    assert.equal(store.runsToday(midnight - 1), 1);
    assert.equal(store.runsToday(noon - day), 0);
  });

  it("is nothing that is still being written, and nothing that was taken back", async () => {
    await using store = await opened();
    const { other } = store;
    assert.equal(store.runsToday(), 0);
    other.exec("begin immediate");
    store.addRun(other, noon, false);
    assert.equal(store.runsToday(), 0);
    other.exec("rollback");
    assert.equal(store.runsToday(), 0);
    other.exec("begin immediate");
    store.addRun(other, noon, false);
    assert.equal(store.runsToday(), 0);
    other.exec("commit");
    assert.equal(store.runsToday(), 1);
  });

  it("is read while another process writes and doesn't let go", async () => {
    await using store = await opened();
    store.other.exec("begin immediate");
    store.addRun(store.other, noon, false);
    assert.equal(store.reads.latest().caller(store.key.secret)?.keyId, store.key.keyId);
    assert.equal(store.runsToday(), 0);
    store.other.exec("rollback");
  });

  it("opens for no secret but the key's own, asked for before or not", async () => {
    await using store = await opened();
    const { reads, key } = store;
    const wrong = `${key.secret.slice(0, -1)}${key.secret.endsWith("A") ? "B" : "A"}`;
    for (const secret of [wrong, "", "plr_", key.keyId, key.secret.toUpperCase()]) {
      assert.equal(reads.latest().caller(secret), undefined);
    }
    assert.equal(reads.latest().caller(key.secret)?.keyId, key.keyId);
    assert.equal(reads.latest().caller(wrong), undefined);
  });

  it("is what a fresh look at the database gives, whoever wrote whatever in between", async function () {
    this.timeout(60_000);
    await using store = await opened();
    const { db, other, reads, key } = store;
    const writes = {
      "a run of the service": () =>
        db
          .insertInto("runs")
          .values({
            id: `run_${Math.random()}`,
            org_id: key.orgId,
            project: "shop",
            pipeline: "hello",
            actor: key.keyId,
            runner: "test",
            status: "running",
            day: utcDay(noon),
            created_at: noon,
            stopped_at: null,
            time_limit_seconds: 30,
            reason: null,
            idempotency_key: null,
            holder: null,
            lease_until: null,
            runner_pid: null,
            runner_birth: null,
          })
          .execute(),
      "a run of another": () => store.addRun(other, noon + day, true),
      "the ends of all": () => db.updateTable("runs").set({ stopped_at: noon }).execute(),
      "a removal": () => other.exec("delete from runs where rowid in (select max(rowid) from runs)"),
      "another limit": () => other.exec("update orgs set runs_per_day = runs_per_day + 1"),
      "a write that is taken back": () => {
        other.exec("begin immediate; update orgs set runs_per_day = 0; rollback");
      },
      "a write of nothing": () => other.exec("update orgs set tier = tier"),
      "no write": () => {},
    };
    const names = fc.constantFrom(...(Object.keys(writes) as (keyof typeof writes)[]));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(names, fc.constantFrom(noon, noon + day)), { maxLength: 12 }),
        async (steps) => {
          for (const [name, now] of steps) {
            await writes[name]();
            const org = asOrg(reads.latest().org(key.orgId, now), key.keyId);
            assert.deepEqual(org, await readOrg(db, key, now));
            const inWork = other.prepare("select count(*) as count from runs where stopped_at is null").get();
            assert.equal(reads.latest().placesTaken(key.orgId), inWork?.["count"]);
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});
