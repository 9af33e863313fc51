import assert from "node:assert/strict";
import { storedLogs } from "../../src/team/store/storedLogs.ts";
import { isHeldRun, renewRunnerLeases } from "../../src/team/store/work.ts";
import { postgresFolder } from "../postgres/installPostgres.ts";
import { databasesForSuite } from "../postgres/lentDatabases.ts";
import { startedServers } from "../service/startedCores.ts";

describe("a run that a runner holds", function () {
  this.timeout(60_000);
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  const lend = databasesForSuite(native);

  /** A server, and a run that the runner `some` holds. */
  async function heldRun() {
    const servers = await startedServers(await lend(), "2026-03-04T12:00:00Z", 1);
    const { outcome } = await servers.asked(await servers.key(), 0);
    assert(outcome?.kind === "started");
    const { runId } = outcome.run;
    const held = { holder: "some", launched_at: servers.clock.now() };
    await servers.db.updateTable("runs").set(held).where("id", "=", runId).execute();
    return Object.assign(servers, { runId });
  }

  it("has its lease renewed while an artifact is being stored", async () => {
    await using servers = await heldRun();
    const { db, runId } = servers;
    await db.transaction().execute(async (tx) => {
      assert(await isHeldRun(tx, runId, "some"));
      assert.equal((await renewRunnerLeases(db, "some", [runId])).size, 1);
      assert(!(await isHeldRun(tx, runId, "another")));
    });
  });

  it("stays over its time where it is cancelled while it cleans up", async () => {
    await using servers = await heldRun();
    const { db, runId, core } = servers;
    const runner = { keyId: "key_1", runnerId: "rnr_1" };
    await db.updateTable("runs").set({ holder: "key_1/rnr_1" }).where("id", "=", runId).execute();
    const { org_id: orgId } = await db.selectFrom("runs").select("org_id").executeTakeFirstOrThrow();
    await core.runs.cancel(orgId, runId, "key_2");
    const stopReason = { kind: "timed-out", seconds: 30, origin: "file" } as const;
    await core.runs.takeIn(runner, runId, 1, [{ kind: "ended", end: { kind: "stopped" }, stopReason }]);
    const { status } = await db.selectFrom("runs").select("status").executeTakeFirstOrThrow();
    assert.equal(status, "timed-out");
  });

  it("has its log read from any line on, some chunks at a time", async () => {
    await using servers = await heldRun();
    const { db, runId } = servers;
    const lines = Array.from({ length: 200 }, (_, at) => `line ${at + 1}`);
    for (let first = 1, entries = 1; first <= lines.length; first += entries, entries = (entries % 3) + 1) {
      const some = lines.slice(first - 1, first - 1 + entries);
      const chunk = { run_id: runId, first, lines: some.join("\n") };
      await db.insertInto("log_chunks").values(chunk).execute();
    }
    const logs = storedLogs({ ...servers.core, db });
    for (const after of [0, 1, 2, 99, 198, 199, 200, 300]) {
      await using reader = logs.reader(runId);
      const read: string[] = [];
      let next = await reader.next(after);
      assert.equal(next?.first, after < lines.length ? after + 1 : undefined);
      for (; next !== undefined; next = await reader.next(after)) read.push(...next.lines);
      assert.deepEqual(read, lines.slice(after));
    }
  });
});
