import assert from "node:assert/strict";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { connectionFile, readConnection } from "../../../src/machine/connectionFile.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { until } from "../../until.ts";
import { lateRunnerPath } from "../programs.ts";
import {
  ended,
  programPipeline,
  started,
  startedService,
  untilCancelled,
  writePid,
  writtenPid,
} from "../startedService.ts";

const never = new AbortController().signal;

async function inherited() {
  const clock = new FakeClock("2026-03-03T10:00:00Z");
  const service = await startedService({ clock, idleSeconds: 600, version: "0.4.0" });
  const token = async () => (await readConnection(service.data))?.token ?? "";
  return { clock, service, own: service.client(await token()) };
}

async function withRemovableRunner(options: { readonly idleSeconds?: number }) {
  const folder = await TemporaryFolder.make();
  const runnerPath = join(folder.path, "runner.ts");
  await symlink(lateRunnerPath, runnerPath);
  const clock = new FakeClock("2026-03-03T10:00:00Z");
  const service = await startedService({ ...options, clock, runnerPath });
  return { clock, service, remove: () => folder[Symbol.asyncDispose]() };
}

describe("a service that is asked to leave for a newer one", () => {
  it("is asked so by this machine's own key alone, whatever role another has", async () => {
    const { service } = await inherited();
    await using _ = service;
    for (const role of ["owner", "member", "viewer"] as const) {
      const { secret } = await service.key(role);
      await assert.rejects(service.client(secret).handOver(never, 10), { type: "forbidden" });
    }
    assert.equal((await service.fetch("/api/service/hand-over", { method: "POST" })).status, 401);
    assert.equal((await readConnection(service.data))?.version, "0.4.0");
    assert.equal((await service.client("x").health(never)).version, "0.4.0");
  });

  it("leaves when no run is active, and its streams close", async () => {
    const { clock, service, own } = await inherited();
    await using _ = service;
    const stream = await service.fetch("/api/events", { headers: { "x-api-key": own.apiKey } });
    const read = stream.text().catch(() => "");
    assert.equal(await own.handOver(never, 10), "now");
    assert.equal(await own.handOver(never, 10), "now");
    while ((await readConnection(service.data)) !== undefined) {
      clock.advance(250);
      await turn();
    }
    await read;
  });

  it("goes on while a run is active, and lets who followed it read its end", async () => {
    const { clock, service, own } = await inherited();
    await using _ = service;
    await own.putProject(service.project.name, service.project.root, never);
    await service.write("long", programPipeline(`${writePid} ${untilCancelled}`, "1h"));
    const run = await started(own, "long");
    await writtenPid(join(service.project.root, "pid"));
    assert.equal(await own.handOver(never, 10), "later");
    for (let seconds = 0; seconds < 60; seconds += 1) {
      clock.advance(1_000);
      await turn();
    }
    assert.equal((await own.run(run.runId, never)).status, "running");
    await own.cancel(run.runId, never);
    assert.equal((await ended(own, run)).status, "cancelled");
    clock.advance(1_000);
    await turn();
    assert.equal((await own.run(run.runId, never)).status, "cancelled");
    while ((await readConnection(service.data)) !== undefined) {
      clock.advance(250);
      await turn();
    }
  });

  it("grants nothing any more while it leaves, however long its disk takes", async () => {
    const { clock, service, own } = await inherited();
    await using _ = service;
    await own.putProject(service.project.name, service.project.root, never);
    await service.write("long", programPipeline(untilCancelled, "1h"));
    const file = connectionFile(service.data);
    await writeFile(file, `${await readFile(file, "utf8")}${" ".repeat(64 * 1024 * 1024)}`);
    assert.equal(await own.handOver(never, 10), "now");
    clock.advance(250);
    await assert.rejects(
      own.start({ pipeline: "long" }, { waitSeconds: 60, idempotencyKey: "w" }, never),
      /The service is stopping/,
    );
    await service.stop();
    assert.deepEqual(await service.db.selectFrom("runs").select("id").execute(), []);
  });

  it("begins no run any more once the program of runs was removed, and leaves for the next service", async () => {
    const { clock, service, remove } = await withRemovableRunner({ idleSeconds: 600 });
    await using _ = service;
    const { client } = await service.member();
    await service.write("hello", programPipeline(""));
    assert.equal((await ended(client, await started(client, "hello"))).status, "succeeded");
    await remove();
    await assert.rejects(started(client, "hello"), { type: "out-of-reach", message: /runner.* was removed/ });
    await until(async () => (await client.org(never)).usage.runsToday === 1);
    while ((await readConnection(service.data)) !== undefined) {
      clock.advance(250);
      await turn();
    }
  });

  it("grants a slot to nobody who waits then", async () => {
    const { service, remove } = await withRemovableRunner({ idleSeconds: 600 });
    await using _ = service;
    const { client } = await service.member();
    await service.write("long", programPipeline(untilCancelled, "1h"));
    const run = await started(client, "long");
    const waits = () => {
      const waiting = started(client, "long", 60);
      return assert.rejects(waiting, { type: "out-of-reach", message: /was removed/ });
    };
    const waiting = async () => (await service.db.selectFrom("waiters").select("ticket").execute()).length;
    const before = waits();
    await until(async () => (await waiting()) === 1);
    await remove();
    const after = waits();
    await until(async () => (await waiting()) === 2);
    await client.cancel(run.runId, never);
    await Promise.all([before, after]);
    await until(async () => (await client.org(never)).usage.runsToday === 1);
  });

  it("only refuses then where a person has started it", async () => {
    const { service, remove } = await withRemovableRunner({});
    await using _ = service;
    const { client } = await service.member();
    await service.write("hello", programPipeline(""));
    await remove();
    await assert.rejects(started(client, "hello"), { type: "internal", next: "End it, and start it again." });
    await until(async () => (await client.org(never)).usage.runsToday === 0);
  });

  it("stays when a person has started it", async () => {
    await using service = await startedService({ version: "0.4.0" });
    const token = (await readConnection(service.data))?.token ?? "";
    assert.equal(await service.client(token).handOver(never, 10), "never");
  });
});
