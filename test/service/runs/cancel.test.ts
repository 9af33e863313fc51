import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ServiceClient } from "../../../src/client/service/client.ts";
import { processTable } from "../../../src/runner/processes/systemProcesses.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { isAlive } from "../../isAlive.ts";
import { itOn } from "../../itOn.ts";
import { holdBeacon, makeBeacon, quoted } from "../../runner/beacon.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { onBoth } from "../onBoth.ts";
import { serviceOn } from "../serviceOn.ts";
import {
  ended,
  programPipeline,
  started,
  startedService,
  untilCancelled,
  untilFile,
  writePid,
  writePidTo,
  writtenPid,
} from "../startedService.ts";

const never = new AbortController().signal;
const processes = processTable(process.platform);

/** A pipeline of one step for `/bin/sh`. */
function scriptPipeline(...lines: readonly string[]): string {
  return JSON.stringify({
    resources: { shell: { type: "cli" } },
    steps: [{ name: "only", use: "shell", run: lines.join("\n") }],
  });
}

/** Whether any of the processes still lives, each told by its birth from a later one of the same id. */
async function living(births: ReadonlyMap<number, string>): Promise<number[]> {
  const now = await Promise.all([...births.keys()].map((pid) => processes.birthOf(pid)));
  return [...births].flatMap(([pid, birth], index) => (now[index] === birth && isAlive(pid) ? [pid] : []));
}

async function birthsOf(pids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  return new Map(
    await Promise.all(
      pids.map(
        async (pid) => [pid, (await processes.birthOf(pid)) ?? assert.fail(`${pid} is gone`)] as const,
      ),
    ),
  );
}

async function pidOfRunner(logged: readonly string[], runId: string): Promise<number> {
  const line = logged.find((entry) => entry.includes("run started") && entry.includes(runId));
  return Number(JSON.parse(line ?? "{}").pid);
}

onBoth("cancelling a run", (store) => {
  itOn(
    "posix",
    "ends a step that is deaf, its sleeping grandchild and their open pipes, and then releases the slot",
    async () => {
      await using service = await serviceOn(store, { graceMilliseconds: 100 });
      await using beacons = await TemporaryFolder.make();
      const { client } = await service.member();
      const beacon = makeBeacon(beacons.path);
      const hold = holdBeacon(beacon);
      const child = `sh -c ${quoted(`${hold}; sleep 1000; :`)} & ${hold}; sleep 1000; :`;
      const deaf = scriptPipeline(
        "trap '' TERM INT HUP",
        `sh -c ${quoted(child)} &`,
        hold,
        "sleep 1000",
        ":",
      );
      await service.write("deaf", deaf);
      await service.write("next", programPipeline(""));
      const run = await started(client, "deaf");
      const births = await birthsOf([
        ...(await beacon.pids(3)),
        await pidOfRunner(service.logged, run.runId),
      ]);
      assert.equal((await living(births)).length, 4);
      const place = started(client, "next", 60).then(async (next) => ({ next, left: await living(births) }));
      const reply = await client.cancel(run.runId, never);
      assert.deepEqual(reply, { runId: run.runId, status: "cancelling" });
      const { next, left } = await place;
      assert.deepEqual(left, [], "the slot was released before every process was gone");
      await beacon.dark;
      assert.equal((await client.run(run.runId, never)).status, "cancelled");
      assert.equal((await ended(client, next)).status, "succeeded");
    },
  );

  it("twice, and after the end, is no error: it says the status", async () => {
    await using service = await serviceOn(store, { graceMilliseconds: 60_000 });
    const { client } = await service.member();
    const [pid, toldTwice] = ["pid", "told-twice"].map((name) => join(service.project.root, name));
    assert(pid !== undefined && toldTwice !== undefined);
    // The run doesn't end between the two, and its program not before it is told.
    const patient = `process.on("SIGTERM", () => { ${untilFile(toldTwice)} }); ${writePidTo(pid)} ${untilCancelled}`;
    await service.write("long", programPipeline(patient));
    const run = await started(client, "long");
    await writtenPid(pid);
    const replies = await Promise.all([client.cancel(run.runId, never), client.cancel(run.runId, never)]);
    for (const reply of replies) assert.deepEqual(reply, { runId: run.runId, status: "cancelling" });
    await writeFile(toldTwice, "");
    await ended(client, run);
    assert.equal((await client.cancel(run.runId, never)).status, "cancelled");

    await service.write("hello", programPipeline(""));
    const other = await started(client, "hello");
    await ended(client, other);
    assert.equal((await client.cancel(other.runId, never)).status, "succeeded");
    assert.equal((await client.run(other.runId, never)).status, "succeeded");
  });

  it("is forbidden to a viewer, and the run goes on", async () => {
    await using service = await serviceOn(store);
    const { client, orgId } = await service.member();
    const viewer = await service.key("viewer");
    assert.equal(viewer.orgId, orgId);
    await service.write(
      "long",
      programPipeline(`${writePidTo(join(service.project.root, "pid"))} ${untilCancelled}`),
    );
    const run = await started(client, "long");
    await assert.rejects(service.client(viewer.secret).cancel(run.runId, never), { type: "forbidden" });
    assert.equal((await client.run(run.runId, never)).status, "running");
  });

  itOn(
    "posix",
    "ends a run whose runner someone has stopped, and gives its programs the grace time",
    async () => {
      await using service = await serviceOn(store, { graceMilliseconds: 30_000 });
      const { client } = await service.member();
      await service.write(
        "tidy",
        scriptPipeline(
          "trap 'exit 0' TERM",
          `echo $$ > ${quoted(join(service.project.root, "pid"))}`,
          "while :; do sleep 0.05; done",
        ),
      );
      const run = await started(client, "tidy");
      const pid = await writtenPid(join(service.project.root, "pid"));
      const births = await birthsOf([pid, await pidOfRunner(service.logged, run.runId)]);
      process.kill(await pidOfRunner(service.logged, run.runId), "SIGSTOP");
      await client.cancel(run.runId, never);
      assert.equal((await ended(client, run)).status, "cancelled");
      assert.deepEqual(await living(births), []);
    },
  );
});

describe("cancelling a run and its time limit: the first reason stays", () => {
  async function inWork(clock: FakeClock) {
    const service = await startedService({ clock });
    const { client } = await service.member();
    await service.write("long", programPipeline(`${writePid} ${untilCancelled}`, "20s"));
    const run = await started(client, "long");
    await writtenPid(join(service.project.root, "pid"));
    // The service may hear of the step after its program has begun.
    while ((await client.run(run.runId, never)).steps?.[0]?.status !== "running") {
      await new Promise(setImmediate);
    }
    return { service, client, run };
  }

  async function statusOf(client: ServiceClient, runId: string) {
    const { status, reason } = await ended(client, { runId });
    return { status, reason };
  }

  it("a run that is over its time is timed-out, although it is cancelled then", async () => {
    const clock = new FakeClock("2026-03-03T10:00:00Z");
    const { service, client, run } = await inWork(clock);
    await using _ = service;
    clock.advance(20_000);
    await client.cancel(run.runId, never);
    assert.deepEqual(await statusOf(client, run.runId), {
      status: "timed-out",
      reason:
        "reached its time limit of 20 s during the step `only`; `time-limit:` in the pipeline file sets it, to at most 1h",
    });
    assert.equal((await client.cancel(run.runId, never)).status, "timed-out");
  });

  it("a run that is cancelled is cancelled, although its time is over before it has ended", async () => {
    const clock = new FakeClock("2026-03-03T10:00:00Z");
    const { service, client, run } = await inWork(clock);
    await using _ = service;
    clock.advance(19_999);
    const cancelled = client.cancel(run.runId, never);
    while (!service.logged.some((line) => line.includes("run stopping"))) await new Promise(setImmediate);
    clock.advance(1);
    await cancelled;
    assert.equal((await statusOf(client, run.runId)).status, "cancelled");
  });
});

onBoth("a run whose runner is killed", (store) => {
  itOn("posix", "is lost, and nothing of it is left when its slot is released", async () => {
    await using service = await serviceOn(store, { graceMilliseconds: 100 });
    await using beacons = await TemporaryFolder.make();
    const { client } = await service.member();
    const beacon = makeBeacon(beacons.path);
    await service.write(
      "deaf",
      scriptPipeline("trap '' TERM", holdBeacon(beacon), "sleep 1000 & sleep 1000", ":"),
    );
    await service.write("next", programPipeline(""));
    const run = await started(client, "deaf");
    const births = await birthsOf(await beacon.pids(1));
    const runner = await pidOfRunner(service.logged, run.runId);
    const place = started(client, "next", 60).then(async (next) => ({ next, left: await living(births) }));
    process.kill(runner, "SIGKILL");
    assert.deepEqual((await place).left, []);
    await beacon.dark;
    const lost = await client.run(run.runId, never);
    assert.equal(lost.status, "lost");
    assert.match(lost.reason ?? "", /ended by SIGKILL/);
    assert.equal((await client.org(never)).usage.runsToday, 2);
    assert.equal((await client.cancel(run.runId, never)).status, "lost");
  });
});
