import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { systemClock } from "../../src/machine/clock.ts";
import { storedLogs } from "../../src/team/store/storedLogs.ts";
import { isHeldRun, overdueRuns, renewRunnerLeases } from "../../src/team/store/work.ts";
import { postgresFolder } from "../postgres/installPostgres.ts";
import { databasesForSuite } from "../postgres/lentDatabases.ts";
import { recordStatements } from "../postgres/recordStatements.ts";
import { openStream } from "../service/openStream.ts";
import { startedServers } from "../service/startedCores.ts";
import { until } from "../until.ts";
import { Team } from "./team.ts";

const never = new AbortController().signal;

describe("a run that a runner holds", () => {
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

  it("goes to another runner where its own gives it back un-begun, unless it is cancelled", async () => {
    await using servers = await heldRun();
    const { db, runId, core } = servers;
    const [full, other] = [
      { keyId: "key_1", runnerId: "rnr_full" },
      { keyId: "key_1", runnerId: "rnr_other" },
    ];
    await db.updateTable("runs").set({ holder: "key_1/rnr_full" }).where("id", "=", runId).execute();
    const taking = (runner: typeof full) => core.runs.take(runner, { orgId: undefined, known: [] });
    // Its files took long to fetch.
    await db.updateTable("runs").set({ launched_at: 1 }).where("id", "=", runId).execute();
    await core.runs.takeIn(full, runId, 1, [{ kind: "returned" }]);
    assert.deepEqual(await overdueRuns(db), []);
    assert.equal((await taking(other))?.runId, runId);
    const row = () =>
      db.selectFrom("runs").select(["status", "messages", "org_id"]).executeTakeFirstOrThrow();
    const { org_id: orgId, ...now } = await row();
    assert.deepEqual(now, { status: "running", messages: 0 });
    // Its reply was lost, and it says so again.
    await assert.rejects(core.runs.takeIn(full, runId, 1, [{ kind: "returned" }]), { type: "conflict" });
    await core.runs.cancel(orgId, runId, "key_2");
    await core.runs.takeIn(other, runId, 1, [{ kind: "returned" }]);
    assert.equal((await row()).status, "cancelled");
    assert.equal(await taking(full), undefined);
  });

  it("isn't given at once to the runner that gives it back while that asks for another", async () => {
    await using team = await Team.make(await lend());
    const client = team.client(0);
    const content = new Uint8Array([1]);
    const snapshot = createHash("sha256").update(content).digest("hex");
    await client.putSnapshot(snapshot, content, never);
    const api = team.runnerApi(1);
    const work = api.work.bind(api);
    const given: (readonly string[])[] = [];
    const again = Promise.withResolvers<void>();
    api.work = async (runnerId, known, ...others) => {
      if (known.length > 0) again.resolve();
      const answer = await work(runnerId, known, ...others);
      if (answer !== undefined) given.push(known);
      return answer;
    };
    let isFull = true;
    await team.run(`${team.servers[1]?.url}/`, {
      ...{ api, slots: 2 },
      clock: { ...systemClock, sleep: (pause, signal) => systemClock.sleep(Math.min(pause, 250), signal) },
      unpack: async () => {
        if (!isFull) return;
        await again.promise;
        isFull = false;
        throw Object.assign(new Error("no space"), { code: "ENOSPC" });
      },
    });
    const text = "resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: echo hello\n";
    const definition = { path: "pipelines/hello.yaml", text, snapshot };
    const attempt = await client.start(
      { pipeline: "hello", project: "shop", definition },
      { idempotencyKey: "start", waitSeconds: 0 },
      never,
    );
    assert(attempt.kind === "started");
    const { status } = await team.ended(0, attempt.run.runId);
    assert.equal(status, "succeeded");
    // To requests of a runner that had no run any more.
    assert.deepEqual(given, [[], []]);
  });

  it("was begun where something was said of it, and isn't taken back", async () => {
    await using servers = await heldRun();
    const { db, runId, core } = servers;
    const runner = { keyId: "key_1", runnerId: "rnr_1" };
    await db.updateTable("runs").set({ holder: "key_1/rnr_1" }).where("id", "=", runId).execute();
    const step = { kind: "step", index: 0, name: "a", type: "cli", status: "running" } as const;
    await core.runs.takeIn(runner, runId, 1, [step]);
    await assert.rejects(core.runs.takeIn(runner, runId, 2, [{ kind: "returned" }]), { type: "conflict" });
  });

  it("has its log read from any line on, some chunks at a time", async () => {
    await using servers = await heldRun();
    const { db, runId } = servers;
    const lines = Array.from({ length: 200 }, (_, at) => `line ${at + 1}`);
    let chunks = 0;
    for (let first = 1, entries = 1; first <= lines.length; first += entries, entries = (entries % 3) + 1) {
      const some = lines.slice(first - 1, first - 1 + entries);
      const chunk = { run_id: runId, first, lines: some.join("\n") };
      await db.insertInto("log_chunks").values(chunk).execute();
      chunks += 1;
    }
    let rows = 0;
    const counted = db.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        rows += result.rows.length;
        return result;
      },
    });
    const logs = storedLogs({ ...servers.core, db: counted });
    for (const after of [0, 1, 2, 99, 198, 199, 200, 300]) {
      await using reader = await logs.reader(runId);
      const read: string[] = [];
      rows = 0;
      let next = await reader.next(after);
      assert.equal(next?.first, after < lines.length ? after + 1 : undefined);
      for (; next !== undefined; next = await reader.next(after)) read.push(...next.lines);
      assert.deepEqual(read, lines.slice(after));
      // No chunk is read again only to find nothing behind it.
      if (after === 0) assert.equal(rows, chunks);
    }
  });

  it("rings for its org's slots at its end alone", async () => {
    await using servers = await heldRun();
    const { db, runId, core } = servers;
    const runner = { keyId: "key_1", runnerId: "rnr_1" };
    await db.updateTable("runs").set({ holder: "key_1/rnr_1" }).where("id", "=", runId).execute();
    const { org_id: orgId } = await db.selectFrom("runs").select("org_id").executeTakeFirstOrThrow();
    const rung: string[] = [];
    const heard = (kind: string) => until(async () => rung.includes(kind));
    const stop = core.bus.subscribeToAll((_, { kind }) => rung.push(kind));
    // What its start has rung for comes before this.
    core.bus.emit(orgId, { kind: "stop", runId: "run_of_test" });
    await heard("stop");
    rung.length = 0;
    const step = { kind: "step", index: 0, name: "a", type: "cli", status: "running" } as const;
    await core.runs.takeIn(runner, runId, 1, [step]);
    await heard("run");
    assert.deepEqual(rung, ["run"]);
    await core.runs.takeIn(runner, runId, 2, [{ kind: "ended", end: { kind: "succeeded" } }]);
    await heard("org");
    stop();
  });

  it("has its steps read by nobody who follows its log", async () => {
    await using team = await Team.make(await lend());
    const { runId } = await team.start(0, "echo");
    const api = team.runnerApi(0);
    const runnerId = await api.register("test", never);
    await until(async () => (await api.work(runnerId, [], 1, never)) !== undefined);
    const at = "2026-01-01T00:00:00.000Z";
    const output = { kind: "output", index: 0, at, stream: "stdout", text: "hello\n" } as const;
    const step = { kind: "step", index: 0, name: "a", type: "cli", status: "running" } as const;
    await using log = await openStream(`${team.servers[0]?.url}/api/runs/${runId}/log`, {
      "x-api-key": team.memberKey,
    });
    await api.sendMessages({ runId, runnerId }, 1, [output], never);
    await log.events.atLeast(1);
    using recorded = recordStatements();
    await api.sendMessages({ runId, runnerId }, 2, [step, output], never);
    await log.events.atLeast(2);
    const asked = [...recorded.statements];
    assert(asked.some((statement) => statement.includes('from "log_chunks"')));
    assert.deepEqual(
      asked.filter((statement) => /from "(steps|artifacts)"/.test(statement)),
      [],
    );
    await api.sendMessages({ runId, runnerId }, 4, [{ kind: "ended", end: { kind: "succeeded" } }], never);
  });
});
