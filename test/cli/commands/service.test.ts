import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { isStopped, readConnection, setStopped } from "../../../src/machine/connectionFile.ts";
import { lockFolder } from "../../../src/service/lifecycle/folderLock.ts";
import { isAlive } from "../../isAlive.ts";
import { programPipeline, untilCancelled } from "../../service/startedService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { until } from "../../until.ts";
import { servedToolbox, type Toolbox, toolbox, written } from "../toolbox.ts";

/** The exit code and the object of a command with `--json`. */
async function json(tool: Toolbox, ...line: string[]) {
  const { exitCode, stdout } = await tool.call([...line, "--json"]);
  return { exitCode, ...JSON.parse(stdout) };
}

/** A service of this machine's, with a run that holds the slot and a call that waits for it. */
async function busy(tool: Toolbox) {
  await tool.write("long", programPipeline(untilCancelled, "1h"));
  await tool.write("hello", programPipeline(""));
  const { runs } = await json(tool, "run", "long", "--detach");
  const waiting = tool.spawn(["run", "hello"]);
  // It asks without waiting first.
  await until(async () => (await json(tool, "service", "status")).waiting === 1);
  const runId: string = runs[0]["run-id"];
  const project: string = runs[0].project;
  return { waiting, ended: [{ "run-id": runId, pipeline: "long", project, status: "running" }], runId };
}

describe("pipeline service", () => {
  it("says where everything lies, what leads there and that none runs, and starts none", async () => {
    await using tool = await toolbox();
    const where = await json(tool, "service", "where");
    assert.equal(where.exitCode, 0);
    assert.equal(where["data-folder"], tool.data);
    assert.equal(where.because, "PIPELINE_DATA_DIR");
    assert.equal(where.database, join(tool.data, "runs.db"));
    assert.equal(where.logins, join(tool.data, "config", "logins"));
    await using other = await TemporaryFolder.make();
    const named = await json(tool, "service", "where", "--data-dir", other.path);
    assert.deepEqual([named.because, named["data-folder"]], ["--data-dir", other.path]);
    const inHome = await json(tool, "service", "where", "--data-dir=~/runs");
    assert.equal(inHome["data-folder"], join(homedir(), "runs"));
    const byDefault = await tool.call(["service", "where"], { PIPELINE_DATA_DIR: "" });
    assert.match(
      byDefault.stdout,
      /^data folder\t.*pipeline-runs.*PIPELINE_DATA_DIR or --data-dir names another/,
    );

    const status = await json(tool, "service", "status");
    assert.deepEqual([status.exitCode, status.ok, status.running, status.stopped], [4, true, false, false]);
    assert.deepEqual(await readdir(tool.data), []);

    const killed = { url: "http://127.0.0.1:9", pid: 4711, token: "t", instance: "i" };
    await writeFile(where.connection, JSON.stringify(killed), { mode: 0o600 });
    const told = await tool.call(["service", "status"]);
    assert.equal(told.exitCode, 4);
    assert.match(told.stdout, /^service\tdoes not answer: process 4711 was killed, or hangs\n/);
  });

  it("says what a running one is and does", async () => {
    await using tool = await servedToolbox();
    await tool.write("hello", programPipeline(""));
    assert.equal((await tool.call(["run", "hello"])).exitCode, 0);
    const status = await json(tool, "service", "status");
    assert.equal(status.exitCode, 0);
    assert.deepEqual([status.url, status.pid, status.version], [tool.service.url, process.pid, "999.0.0"]);
    assert.deepEqual([status.runs, status.waiting, status["data-folder"]], [[], 0, tool.data]);
    assert(status.bytes > 4096);
    const { stdout } = await tool.call(["service", "status"]);
    assert.match(
      stdout,
      /^service\trunning\naddress\t.*\nprocess\t\d+\nversion\t999\.0\.0\nsince\t.*\(.+\)\n/,
    );
    assert.match(stdout, /\nactive\tno run\nwaiting\tno start\ndata\t.* \(.* KiB\)$/);
  });

  it("stops it in order, and nothing but a run starts it again", async () => {
    await using tool = await toolbox();
    const { waiting, ended, runId } = await busy(tool);
    const doing = await json(tool, "service", "status");
    assert.deepEqual([doing.exitCode, doing.runs, doing.waiting], [0, ended, 1]);

    const stopped = await json(tool, "service", "stop");
    assert.deepEqual([stopped.exitCode, stopped.runs, stopped.waiting], [0, ended, 1]);
    assert.equal(stopped.pid, doing.pid);
    const told = await waiting;
    assert.equal(told.exitCode, 4);
    assert.match(told.stderr, /own service was stopped\.\n`pipeline run` and `pipeline service restart`/);

    for (const line of [["org"], ["runs", "list"], ["page"], ["runs", "cancel", "--mine"]]) {
      const refused = await tool.call(line);
      assert.equal(refused.exitCode, 4);
      assert.match(refused.stderr, /own service was stopped/);
    }
    const status = await json(tool, "service", "status");
    assert.deepEqual([status.exitCode, status.running, status.stopped], [4, false, true]);
    const again = await tool.call(["service", "stop"]);
    assert.deepEqual([again.exitCode, again.stdout], [0, "It was not running."]);

    assert.equal((await tool.call(["run", "hello"])).exitCode, 0);
    const run = await json(tool, "runs", "show", runId);
    assert.deepEqual([run.status, run.reason], ["cancelled", "the service was stopped"]);
    assert.equal((await json(tool, "service", "status")).stopped, false);
  });

  it("restarts it, and who waits goes on waiting", async () => {
    await using tool = await toolbox();
    const { waiting, ended } = await busy(tool);
    const before = await readConnection(tool.data);
    const restarted = await json(tool, "service", "restart");
    assert.deepEqual([restarted.exitCode, restarted.runs, restarted.waiting], [0, ended, 1]);
    assert.notEqual(restarted.pid, before?.pid);
    await until(async () => !isAlive(before?.pid ?? 0));
    assert.equal((await waiting).exitCode, 0);
    // Also one that was stopped.
    await tool.call(["service", "stop"]);
    await until(async () => !isAlive(restarted.pid));
    const started = await tool.call(["service", "restart", "--quiet"]);
    assert.match(started.stdout, /^Started: process \d+ at http:[^\n]*$/);
    assert.equal(started.stderr, "");
    assert.equal((await tool.call(["org"])).exitCode, 0);
  });

  it("blames no service that another call has started while it was to be stopped", async () => {
    await using tool = await toolbox();
    // As one that begins: it holds its folder and can't be found yet.
    using _lock = lockFolder(tool.data);
    const stopping = tool.spawn(["service", "stop"]);
    await until(async () => isStopped(tool.data));
    await setStopped(tool.data, false);
    const { exitCode, stderr } = await stopping;
    assert.equal(exitCode, 2);
    assert.match(stderr, /Another call has started the service again meanwhile\./);
  });

  it("leaves one in the foreground to its starter, with its port: exit code 2", async () => {
    await using tool = await toolbox();
    const serving = tool.spawn(["serve"]);
    await written(serving.stdout, /Serving at/);
    const { exitCode, stderr } = await tool.call(["service", "restart"]);
    assert.equal(exitCode, 2);
    assert.match(
      stderr,
      new RegExp(`process ${serving.pid}\\) runs in the foreground[\\s\\S]*\`pipeline serve\` again`),
    );
    const status = await json(tool, "service", "status");
    assert.deepEqual([status.running, status.pid], [true, serving.pid]);
    serving.kill("SIGTERM");
    assert.equal((await serving).exitCode, 0);
  });

  it("leaves nothing open in the folder of a stopped one, which may be removed at once", async () => {
    await using tool = await toolbox();
    assert.equal((await tool.call(["org"])).exitCode, 0);
    await tool.call(["service", "stop"]);
    assert.equal(existsSync(join(tool.data, "runs.db-wal")), false);
    assert.equal(existsSync(join(tool.data, "service.json")), false);
  });

  it("stops one that a person has started in a terminal, which ends as if by Ctrl-C", async () => {
    await using tool = await toolbox();
    await using other = await TemporaryFolder.make();
    const serving = tool.spawn(["serve", "--data-dir", other.path]);
    await written(serving.stdout, /Serving at/);
    const { exitCode, stdout, stderr } = await tool.call(["service", "stop", "--data-dir", other.path]);
    assert.deepEqual([exitCode, stdout], [0, `Stopped: process ${serving.pid}.`]);
    assert.equal((await serving).exitCode, 0);
    // No window, and no other command, knows that folder.
    const hint = `\`pipeline service restart --data-dir ${other.path}\` starts it again.`;
    assert.equal(stderr, hint);
    const status = await tool.call(["service", "status", "--data-dir", other.path]);
    assert(status.stdout.startsWith(`service\tstopped: ${hint}\n`), status.stdout);
  });
});
