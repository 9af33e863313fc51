import assert from "node:assert/strict";
import { access, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { readConnection } from "../../../src/machine/connectionFile.ts";
import { serve } from "../../../src/service/server.ts";
import { isAlive } from "../../isAlive.ts";
import { itOn } from "../../itOn.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { until } from "../../until.ts";
import { servedProcess } from "../servedProcess.ts";
import {
  ended,
  programPipeline,
  started,
  startedService,
  untilCancelled,
  writePid,
  writePidTo,
  writtenPid,
} from "../startedService.ts";

const never = new AbortController().signal;

describe("a service's life", () => {
  it("shows this machine's faces where it is, for this user's eyes only, and is gone when it stops", async () => {
    await using service = await startedService();
    const connection = await readConnection(service.data);
    assert.equal(connection?.url, service.url);
    assert.equal(connection?.pid, process.pid);
    if (process.platform !== "win32") {
      assert.equal((await stat(join(service.data, "service.json"))).mode & 0o777, 0o600);
    }
    const health = (await (await service.fetch("/healthz")).json()) as { instance: string };
    assert.equal(health.instance, connection?.instance);
    const own = service.client(connection?.token ?? "");
    const before = await own.org(never);
    await service.restart();
    const after = await readConnection(service.data);
    assert.notEqual(after?.token, connection?.token);
    assert.equal((await service.client(after?.token ?? "").org(never)).actor, before.actor);
    await assert.rejects(service.client(connection?.token ?? "").org(never), { type: "unauthorized" });
    await service.stop();
    await assert.rejects(access(join(service.data, "service.json")), { code: "ENOENT" });
  });

  it("serves a folder once", async () => {
    await using service = await startedService();
    const second = await serve({ folder: service.data, port: 0, runnerPath: "", env: {}, log: () => {} });
    assert.equal(second, "taken");
  });

  it("ends its runs when it stops, and finds them ended when it starts again", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    await service.write("long", programPipeline(`${writePid} ${untilCancelled}`));
    const run = await started(client, "long");
    const pid = await writtenPid(join(service.project.root, "pid"));
    await service.restart();
    assert(!isAlive(pid));
    const after = await service.client(secret).run(run.runId, never);
    assert.equal(after.status, "cancelled");
    assert.equal((await service.client(secret).org(never)).usage.runsToday, 1);
  });

  itOn("posix", "ends its runs at their time limit also while it is suspended", async () => {
    await using service = await servedProcess();
    const member = await service.member("acme", { parallelRuns: 1, runsPerDay: 50 });
    await using folder = await TemporaryFolder.make();
    const file = join(folder.path, "pid");
    await service.write("long", programPipeline(`${writePidTo(file)} ${untilCancelled}`, "1s"));
    const run = await started(member.client(), "long");
    const pid = await writtenPid(file);
    assert(service.pid !== undefined);
    process.kill(service.pid, "SIGSTOP");
    await until(async () => !isAlive(pid));
    process.kill(service.pid, "SIGCONT");
    const after = await ended(member.client(), run);
    assert.equal(after.status, "timed-out");
    // On a busy machine the step may not have begun, or be over, when the service wakes.
    assert.match(after.reason ?? "", /^reached its time limit of 1 s/);
  });

  it("keeps no key: neither in the database nor in the log", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    await service.write("hello", programPipeline(""));
    await ended(client, await started(client, "hello"));
    const random = secret.slice(-43);
    assert(!service.logged.join("\n").includes(random));
    await service.stop();
    const files = await Promise.all(
      ["runs.db", "runs.db-wal"].map((name) => readFile(join(service.data, name), "latin1").catch(() => "")),
    );
    assert(!files.join("").includes(random));
  });

  itOn("posix", "keeps its database for this user's eyes only", async () => {
    await using service = await startedService();
    for (const name of ["runs.db", "runs.db-wal"]) {
      assert.equal((await stat(join(service.data, name))).mode & 0o777, 0o600, name);
    }
  });
});
