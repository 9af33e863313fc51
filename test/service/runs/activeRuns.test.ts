import assert from "node:assert/strict";
import { lastChange } from "../../../src/service/store/runChanges.ts";
import { hasStarted, quiet, startedCore } from "../startedCore.ts";

const noon = "2026-03-04T12:00:00Z";

async function oneOrg() {
  const core = await startedCore(noon);
  const key = await core.key();
  return Object.assign(core, {
    key1: key,
    startUntold: async () => {
      const asked = core.ask(key, 0, { isTold: false });
      await quiet();
      assert(asked.outcome?.kind === "started");
      return asked.outcome.run;
    },
    /** The run's row as it now is. */
    row: async (runId: string) => (await core.rows()).find(({ id }) => id === runId),
  });
}

describe("active runs", () => {
  it("ends a run that is cancelled before its caller was told, and never launches it", async () => {
    await using core = await oneOrg();
    const run = await core.startUntold();
    const next = core.ask(core.key1, 120);
    await core.core.runs.cancel(core.key1.orgId, run.runId, core.key1.keyId);
    assert.equal((await core.row(run.runId))?.status, "cancelled");
    core.tell(run);
    await quiet();
    assert(!core.jobs.has(run.runId));
    assert(hasStarted(next));
    assert.equal((await core.row(run.runId))?.status, "cancelled");
  });

  it("keeps a run that was cancelled by someone before its caller left", async () => {
    await using core = await oneOrg();
    const run = await core.startUntold();
    await core.core.runs.cancel(core.key1.orgId, run.runId, core.key1.keyId);
    core.core.runs.withdraw(run.runId);
    await quiet();
    assert.equal((await core.row(run.runId))?.status, "cancelled");
  });

  describe("with a repeated key", () => {
    /** Two callers of one request, neither of whom has its answer yet. */
    async function askedTwice() {
      const core = await oneOrg();
      const request = { idempotencyKey: "one-request", name: "nightly", isTold: false };
      const callers = [core.ask(core.key1, 0, request), core.ask(core.key1, 0, request)];
      await quiet();
      assert.deepEqual(
        callers.map(({ outcome }) => outcome?.kind),
        ["started", "repeated"],
      );
      const run = callers[0]?.outcome?.kind === "started" ? callers[0].outcome.run : undefined;
      assert(run !== undefined);
      const repeated = async () => {
        const { orgId, keyId: actor } = core.key1;
        const asked = {
          orgId,
          actor,
          idempotencyKey: "one-request",
          pipeline: "nightly",
          project: undefined,
        };
        const outcome = await core.core.admission.repeated(asked);
        return outcome?.kind === "repeated" ? outcome.run : undefined;
      };
      return Object.assign(core, { run, request, repeated });
    }

    it("begins the run for the caller who is told of it, when the other has left", async () => {
      await using core = await askedTwice();
      core.core.runs.withdraw(core.run.runId);
      await quiet();
      assert.equal((await core.row(core.run.runId))?.status, "running");
      assert(!core.jobs.has(core.run.runId));
      core.tell(core.run);
      assert(core.jobs.has(core.run.runId));
    });

    it("keeps what one caller was told of, when the other leaves afterwards", async () => {
      await using core = await askedTwice();
      core.tell(core.run);
      core.core.runs.withdraw(core.run.runId);
      await quiet();
      assert.equal((await core.row(core.run.runId))?.status, "running");
      assert(core.jobs.has(core.run.runId));
    });

    it("takes the run back when all have left", async () => {
      await using core = await askedTwice();
      assert.equal((await core.repeated())?.runId, core.run.runId);
      for (let caller = 0; caller < 3; caller++) {
        assert.equal((await core.rows()).length, 1);
        core.core.runs.withdraw(core.run.runId);
        await quiet();
      }
      assert.deepEqual(await core.rows(), []);
    });

    it("takes the run back when all have left, one of them when its answer was decided on", async () => {
      await using core = await askedTwice();
      const { runs, writer } = core.core;
      const write = writer.write.bind(writer);
      writer.write = (act) => write(act).finally(() => third.leave());
      const third = core.ask(core.key1, 0, core.request);
      await quiet();
      writer.write = write;
      runs.withdraw(core.run.runId);
      runs.withdraw(core.run.runId);
      await quiet();
      assert.deepEqual(await core.rows(), []);
    });

    it("names none that is being taken back, also when the disk had no room for that", async () => {
      await using core = await askedTwice();
      const write = core.core.writer.write.bind(core.core.writer);
      core.core.writer.write = () => Promise.reject(new Error("no room"));
      core.core.runs.withdraw(core.run.runId);
      core.core.runs.withdraw(core.run.runId);
      core.core.writer.write = write;
      assert.equal(await core.repeated(), undefined);
      const anew = core.ask(core.key1, 0, { ...core.request, isTold: true });
      await quiet();
      assert(anew.outcome?.kind === "started");
      assert.notEqual(anew.outcome.run.runId, core.run.runId);
      core.clock.advance(1_000);
      await quiet();
      assert.deepEqual(
        (await core.rows()).map(({ id }) => id),
        [anew.outcome.run.runId],
      );
    });
  });

  it("ends a run whose runner can't even be asked for", async () => {
    await using core = await oneOrg();
    core.faults.launch = new Error("no more processes");
    const lost = core.ask(core.key1, 0);
    await quiet();
    assert(lost.outcome?.kind === "started");
    const row = await core.row(lost.outcome.run.runId);
    assert.equal(row?.status, "lost");
    assert.match(row?.reason ?? "", /couldn't be started/);
    delete core.faults.launch;
    const next = core.ask(core.key1, 0);
    await quiet();
    assert(hasStarted(next));
  });

  it("ends an active row that nobody holds, once what is left of it is gone, and hands its slot on", async () => {
    await using core = await oneOrg();
    const run = await core.startUntold();
    // As some fault would leave it: the row is there, but the service knows nothing of it.
    const row = await core.row(run.runId);
    assert(row !== undefined);
    const leaked = { ...row, id: "run_leaked", idempotency_key: null };
    await core.db.insertInto("runs").values(leaked).execute();
    core.core.runs.withdraw(run.runId);
    const next = core.ask(core.key1, 120);
    await quiet();
    const gone = Promise.withResolvers<void>();
    core.faults.leftovers = () => gone.promise;
    core.clock.advance(10_000);
    await quiet();
    assert.equal((await core.row("run_leaked"))?.stopped_at, null);
    core.clock.advance(60_000);
    await quiet();
    assert(!hasStarted(next));
    gone.resolve();
    await quiet();
    assert.equal((await core.row("run_leaked"))?.status, "lost");
    assert(hasStarted(next));
  });

  it("tries again to end what nobody holds when it could not be ended", async () => {
    await using core = await oneOrg();
    const held = await core.startUntold();
    core.faults.leftovers = () => Promise.reject(new Error("the processes can't be listed"));
    await core.crash();
    await core.start();
    const next = core.ask(core.key1, 120);
    await quiet();
    assert(!hasStarted(next));
    delete core.faults.leftovers;
    core.clock.advance(40_000);
    await quiet();
    assert.equal((await core.row(held.runId))?.status, "lost");
    assert(hasStarted(next));
  });

  it("starts although what is left of a run doesn't end: that run alone keeps its slot", async () => {
    await using core = await oneOrg();
    const other = await core.key("other");
    const stuck = await core.startUntold();
    const freed = core.ask(other, 0);
    await quiet();
    assert(freed.outcome?.kind === "started");
    const gone = Promise.withResolvers<void>();
    core.faults.leftovers = (runId) => (runId === stuck.runId ? gone.promise : Promise.resolve());
    await core.crash();
    let isStarted = false;
    void core.start().then(() => {
      isStarted = true;
    });
    while (!isStarted) {
      await quiet();
      core.clock.advance(1_000);
    }
    const waits = core.ask(core.key1, 120);
    const runs = core.ask(other, 0);
    await quiet();
    assert.deepEqual([waits, runs].map(hasStarted), [false, true]);
    core.clock.advance(31_000);
    await quiet();
    assert(!hasStarted(waits));
    gone.resolve();
    await quiet();
    assert.equal((await core.row(stuck.runId))?.status, "lost");
    assert(hasStarted(waits));
  });

  it("takes no run that it holds for nobody's, wherever the clock jumps", async () => {
    await using core = await oneOrg();
    const asked = core.ask(core.key1, 0);
    await quiet();
    assert(asked.outcome?.kind === "started");
    const { runId } = asked.outcome.run;
    for (const time of ["2027-01-01T00:00:00Z", "2025-01-01T00:00:00Z"]) {
      core.clock.set(time);
      core.clock.advance(10_000);
      await quiet();
      assert.equal((await core.row(runId))?.status, "running");
    }
  });

  it("keeps which process runs a run", async () => {
    await using core = await oneOrg();
    const asked = core.ask(core.key1, 0);
    await quiet();
    assert(asked.outcome?.kind === "started");
    const row = await core.row(asked.outcome.run.runId);
    assert.equal(row?.runner_pid, 1);
    assert.equal(row?.runner_birth, "then");
  });

  it("tells of the org's numbers when a run comes, ends and goes, and of the run once its caller was told", async () => {
    await using core = await oneOrg();
    const told: string[] = [];
    core.core.bus.subscribe(core.key1.orgId, ({ kind }) => told.push(kind));
    const run = await core.startUntold();
    assert.deepEqual(told.splice(0), ["org"]);
    core.core.runs.withdraw(run.runId);
    await quiet();
    assert.deepEqual(told.splice(0), ["org", "run"]);
    const next = await core.startUntold();
    told.length = 0;
    await core.core.runs.cancel(core.key1.orgId, next.runId, core.key1.keyId);
    await quiet();
    assert.deepEqual(new Set(told), new Set(["org", "run"]));
  });

  it("counts a run that was admitted as work, so that the service doesn't end for idleness under it", async () => {
    await using core = await oneOrg();
    const run = await core.startUntold();
    assert.equal(core.core.runs.count, 1);
    core.core.runs.withdraw(run.runId);
    await quiet();
    assert.equal(core.core.runs.count, 0);
  });

  it("keeps what a full disk has not taken of its steps, and the time of its end", async () => {
    await using core = await oneOrg();
    const run = await core.startUntold();
    core.tell(run);
    await quiet();
    const job = core.jobs.get(run.runId);
    const at = new Date(core.clock.now()).toISOString();
    // Longer than what is left of the pages that there are.
    const message = "x".repeat(20_000);
    const step = { name: "only", type: "cli", startedAt: at };
    await core.limitDisk(true);
    job?.step({ ...step, status: "running" });
    job?.step({ ...step, status: "failed", stoppedAt: at, message });
    await quiet();
    const endedAt = core.clock.now();
    job?.end({ kind: "failed", message });
    await quiet();
    core.clock.advance(60_000);
    await quiet();
    assert.equal((await core.row(run.runId))?.stopped_at, null);
    await core.limitDisk(false);
    core.clock.advance(60_000);
    await quiet();
    const row = await core.row(run.runId);
    assert.deepEqual([row?.status, row?.stopped_at], ["failed", endedAt]);
    const [step1, ...others] = await core.db.selectFrom("steps").selectAll().execute();
    assert.deepEqual([step1?.status, step1?.message?.length, others.length], ["failed", message.length, 0]);
  });

  it("writes what comes together of its steps once", async () => {
    await using core = await oneOrg();
    const run = await core.startUntold();
    core.tell(run);
    await quiet();
    const before = await lastChange(core.db, core.key1.orgId);
    const at = new Date(core.clock.now()).toISOString();
    const step = { name: "one", type: "http", startedAt: at };
    for (let position = 0; position < 1200; position += 1) {
      core.jobs.get(run.runId)?.step({ ...step, status: "running" }, position);
      core.jobs.get(run.runId)?.step({ ...step, status: "succeeded", stoppedAt: at }, position);
    }
    await quiet();
    const rows = await core.db.selectFrom("steps").select("status").execute();
    assert.deepEqual(
      [rows.length, new Set(rows.map(({ status }) => status))],
      [1200, new Set(["succeeded"])],
    );
    assert.equal((await lastChange(core.db, core.key1.orgId)) - before, 1);
  });

  it("leaves no row of a start that was being decided while the service closed", async () => {
    await using core = await oneOrg();
    const asked = core.ask(core.key1, 0);
    await core.core.close();
    await quiet();
    assert.match(String(asked.left), /The service is stopping/);
    assert.deepEqual(await core.rows(), []);
    await core.start();
  });

  it("ends a run whose recovery failed once also after the clock was set back", async () => {
    await using core = await oneOrg();
    core.ask(core.key1, 0);
    await quiet();
    await core.crash();
    core.clock.set("2026-03-03T12:00:00Z");
    let failures = 1;
    core.faults.leftovers = async () => {
      if (failures-- > 0) throw new Error("there is no list of processes now");
    };
    await core.start();
    for (let look = 0; look < 4; look++) {
      core.clock.advance(10_000);
      await quiet();
    }
    assert.deepEqual(
      (await core.rows()).map(({ status }) => status),
      ["lost"],
    );
  });

  it("makes ids that sort behind the newest also when the clock was set back while no service ran", async () => {
    await using core = await oneOrg();
    const first = await core.startUntold();
    core.core.runs.withdraw("run_of_nobody");
    await core.crash();
    core.clock.set("2026-03-01T12:00:00Z");
    await core.start();
    const second = await core.startUntold();
    await core.core.runs.cancel(core.key1.orgId, second.runId, core.key1.keyId);
    core.clock.set("2026-02-01T12:00:00Z");
    const third = await core.startUntold();
    assert(first.runId < second.runId && second.runId < third.runId);
  });
});
