import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { access, mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { ServiceClient } from "../../../src/client/service/client.ts";
import type { Connection } from "../../../src/machine/connectionFile.ts";
import { readConnection } from "../../../src/machine/connectionFile.ts";
import { isAlive } from "../../isAlive.ts";
import { itOn } from "../../itOn.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { until } from "../../until.ts";
import { errorTypeOf, parseReply, rawExchange } from "../rawExchange.ts";
import {
  programPipeline,
  started,
  startedService,
  untilCancelled,
  writePid,
  writtenPid,
} from "../startedService.ts";

/** The service as it is shipped; `npm run build` makes it. */
const servicePath = join(import.meta.dirname, "../../../dist/service.js");
const never = new AbortController().signal;

/** The real program as a process, with a project of one pipeline, `long`, whose step writes its process id. */
async function serviceProcess(code: string) {
  const data = await TemporaryFolder.make();
  const project = await TemporaryFolder.make();
  await mkdir(join(project.path, "pipelines"));
  await writeFile(join(project.path, "pipelines", "long.yaml"), programPipeline(code));
  const processes: ChildProcess[] = [];
  const start = async () => {
    const program = spawn(process.execPath, [servicePath], {
      env: { ...process.env, PIPELINE_DATA_DIR: data.path },
      stdio: "ignore",
    });
    processes.push(program);
    const ended = once(program, "exit");
    const connection = await published(data.path, program);
    const client = new ServiceClient({ baseUrl: new URL(`${connection.url}/`), apiKey: connection.token });
    return { program, ended, connection, client };
  };
  return {
    data: data.path,
    start,
    pidFile: join(project.path, "pid"),
    putProject: (client: ServiceClient) => client.putProject(basename(project.path), project.path, never),
    async [Symbol.asyncDispose]() {
      for (const program of processes) {
        if (program.exitCode !== null || program.signalCode !== null) continue;
        program.kill("SIGKILL");
        await once(program, "exit");
      }
      await data[Symbol.asyncDispose]();
      await project[Symbol.asyncDispose]();
    },
  };
}

function published(folder: string, program: ChildProcess): Promise<Connection> {
  return until(async () => {
    const connection = await readConnection(folder);
    assert.equal(program.exitCode, null);
    return connection?.pid === program.pid && connection;
  });
}

describe("a service that is asked to end", () => {
  itOn(
    "posix",
    "tells who waits, ends streams and runs in order, and leaves nothing: exit code 0",
    async () => {
      await using service = await serviceProcess(`${writePid} ${untilCancelled}`);
      const { program, ended, connection, client } = await service.start();
      await service.putProject(client);
      const run = await started(client, "long");
      const pid = await writtenPid(service.pidFile);
      const headers = { "x-api-key": connection.token };
      const stream = await fetch(`${connection.url}/api/events`, { headers });
      const events = stream.text();
      const held = fetch(`${connection.url}/api/runs`, {
        method: "POST",
        headers: { ...headers, prefer: "wait=120" },
        body: '{"pipeline":"long"}',
      });
      // The held request is in the queue once one that came after it has been answered.
      await client.org(never);
      program.kill("SIGTERM");

      const told = await held;
      assert.equal(told.status, 500);
      assert.equal(told.headers.get("connection"), "close");
      assert.equal(told.headers.get("retry-after"), "1");
      const body: unknown = await told.json();
      assert.equal(errorTypeOf(body), "internal");
      assert.match(JSON.stringify(body), /stopping.*moment/);
      // The stream ends as a whole one, after it has told how the run did.
      assert.match(
        await events,
        new RegExp(`event: run\\ndata: .*"run-id":"${run.runId}".*"status":"cancelled"`),
      );
      assert.deepEqual(await ended, [0, null]);
      assert(!isAlive(pid));
      await assert.rejects(access(join(service.data, "service.json")), { code: "ENOENT" });
      await assert.rejects(fetch(`${connection.url}/healthz`));

      const next = await service.start();
      const after = await next.client.run(run.runId, never);
      assert.equal(after.status, "cancelled");
      assert.equal((await next.client.org(never)).usage.runsToday, 1);
      next.program.kill("SIGTERM");
      assert.deepEqual(await next.ended, [0, null]);
    },
  );

  itOn("posix", "leaves at once when it is asked twice, and its run is ended all the same", async () => {
    await using service = await serviceProcess(
      `process.on("SIGTERM", () => {}); ${writePid} ${untilCancelled}`,
    );
    const { program, ended, client } = await service.start();
    await service.putProject(client);
    const run = await started(client, "long");
    const pid = await writtenPid(service.pidFile);
    program.kill("SIGTERM");
    await until(async () => !existsSync(join(service.data, "service.json")));
    program.kill("SIGTERM");
    assert.deepEqual(await ended, [130, null]);
    const next = await service.start();
    const after = await next.client.run(run.runId, never);
    assert.equal(after.status, "lost");
    await until(async () => !isAlive(pid));
    next.program.kill("SIGTERM");
    assert.deepEqual(await next.ended, [0, null]);
  });

  it("answers whoever it has begun to listen to, as the last reply on the connection", async () => {
    await using service = await startedService();
    const { secret } = await service.member();
    let stopping: Promise<void> | undefined;
    const text = await rawExchange(service.url, (socket) => {
      socket.write(
        `PUT /api/projects/none HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: ${secret}\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n{`,
      );
      // The service says 100 when it has the headers; the rest of the body comes while it is stopping.
      socket.once("data", () => {
        stopping = service.stop();
        socket.write("}");
      });
    });
    await stopping;
    const { status, headers } = parseReply(text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, ""));
    assert.equal(status, 400);
    assert.equal(headers.get("connection"), "close");
    await assert.rejects(service.fetch("/healthz"));
  });
});
