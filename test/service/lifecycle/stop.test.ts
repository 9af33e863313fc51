import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { isStopped, readConnection, setStopped } from "../../../src/machine/connectionFile.ts";
import { isAlive } from "../../isAlive.ts";
import { until } from "../../until.ts";
import {
  programPipeline,
  started,
  startedService,
  untilCancelled,
  writePid,
  writtenPid,
} from "../startedService.ts";

const never = new AbortController().signal;

async function ownService() {
  const service = await startedService();
  const own = service.client((await readConnection(service.data))?.token ?? "");
  await own.putProject(service.project.name, service.project.root, never);
  return { service, own };
}

describe("stopping this machine's service on request", () => {
  it("is for this machine's own key alone, and so is to see what it does", async () => {
    const { service } = await ownService();
    await using _ = service;
    for (const role of ["owner", "member", "viewer"] as const) {
      const client = service.client((await service.key(role)).secret);
      await assert.rejects(client.stopService(never), { type: "forbidden" });
      await assert.rejects(client.serviceState(never), { type: "forbidden" });
    }
    assert.equal((await service.fetch("/api/service/stop", { method: "POST" })).status, 401);
    assert.equal((await service.fetch("/healthz")).status, 200);
  });

  it("ends the active run in order, turns away who waits, and says what it ended", async () => {
    const { service, own } = await ownService();
    await using _ = service;
    const cleanUp = `require('node:fs').writeFileSync('cleaned', '')`;
    await service.write(
      "long",
      `${programPipeline(`${writePid} ${untilCancelled}`, "1h")}finally:\n  - use: shell\n    run: ${JSON.stringify([process.execPath, "-e", cleanUp])}\n`,
    );
    const idle = await own.serviceState(never);
    assert.deepEqual([idle?.runs, idle?.waiting], [[], 0]);
    assert(Date.parse(idle?.startedAt ?? "") <= Date.now());

    const { runId } = await started(own, "long");
    const pid = await writtenPid(join(service.project.root, "pid"));
    const waiting = assert.rejects(started(own, "long", 60), /stopping/);
    await until(async () => (await own.serviceState(never))?.waiting === 1);

    const ended = await own.stopService(never);
    assert.equal(ended.waiting, 1);
    assert.deepEqual(ended.runs, [
      { runId, pipeline: "long", project: service.project.name, status: "running" },
    ]);
    assert.equal(isAlive(pid), false);
    assert(existsSync(join(service.project.root, "cleaned")));
    await waiting;
    const row = await service.db
      .selectFrom("runs")
      .select(["status", "reason"])
      .where("id", "=", runId)
      .executeTakeFirstOrThrow();
    assert.deepEqual({ ...row }, { status: "cancelled", reason: "the service was stopped" });
    await service.stop();
    assert.equal(await readConnection(service.data), undefined);
  });

  it("is forgotten by the next start in the foreground", async () => {
    const { service } = await ownService();
    await using _ = service;
    await service.stop();
    await setStopped(service.data, true);
    assert(isStopped(service.data));
    await service.restart();
    assert.equal(isStopped(service.data), false);
  });

  it("is found by a service on demand that was slow to begin, and undone by nobody who doesn't ask", async () => {
    await using service = await startedService({ idleSeconds: 600 });
    await service.stop();
    await setStopped(service.data, true);
    await service.restart();
    await until(async () => (await readConnection(service.data)) === undefined);
    assert(isStopped(service.data));
  });
});
