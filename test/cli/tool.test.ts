import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { readConnection } from "../../src/client/embedded/connectionFile.ts";
import { isAlive } from "../isAlive.ts";
import { fillDay } from "../service/fillDay.ts";
import { programPipeline, untilCancelled, writePid } from "../service/startedService.ts";
import { endProcess, toolbox, written } from "./toolbox.ts";

interface ToldRun {
  readonly "run-id": string;
  readonly status: string;
}

/** A base URL where something answers that is not the service. */
async function answering(status: number, body: string) {
  const server = createServer((_, response) => response.writeHead(status).end(body));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** The id of a process that a step has written into the project's folder. */
async function stepPid(project: string): Promise<number> {
  for (;;) {
    const pid = Number(await readFile(join(project, "pid"), "utf8").catch(() => ""));
    if (pid > 0) return pid;
  }
}

describe("pipeline run", () => {
  it("starts this machine's own service by itself, and follows the run to its end", async () => {
    await using tool = await toolbox();
    await tool.write("hello", programPipeline("console.log('hello')"));
    const { exitCode, stdout, stderr } = await tool.run(["run", "hello"]);
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /^run_\w+ hello succeeded$/);
    assert.match(stderr, /✓ only/);
    assert.match((await tool.run(["org"])).stdout, /^1 of 50 runs used today\./m);
  });

  it("finds the project upward from the working folder", async () => {
    await using tool = await toolbox();
    await tool.write("hello", programPipeline("require('node:fs').writeFileSync('where', process.cwd())"));
    const { exitCode } = await tool.run(["run", "hello"]);
    assert.equal(exitCode, 0);
    assert.match(await readFile(join(tool.project, "where"), "utf8"), /pipeline-runs-test-\w+$/);
  });

  it("ends with 1 and says why when the run fails", async () => {
    await using tool = await toolbox();
    await tool.write("broken", programPipeline("console.log('the disk is on fire'); process.exit(7)"));
    const plain = await tool.run(["run", "broken"]);
    assert.equal(plain.exitCode, 1);
    assert.match(plain.stderr, /✗ only/);
    assert.match(plain.stderr, /7[\s\S]*the disk is on fire/);
    const json = await tool.run(["run", "broken", "--json"]);
    assert.equal(json.exitCode, 1);
    const told = JSON.parse(json.stdout);
    assert.equal(told.ok, false);
    assert.equal(told.runs[0].status, "failed");
  });

  it("returns once started with --detach, and prints one object with --json", async () => {
    await using tool = await toolbox();
    await tool.write("long", programPipeline(untilCancelled));
    const { exitCode, stdout } = await tool.run(["run", "long", "--detach", "--json"]);
    assert.equal(exitCode, 0);
    const told = JSON.parse(stdout);
    assert.equal(told.ok, true);
    assert.equal(told.command, "run");
    assert.equal(told.runs[0].status, "running");
    assert.deepEqual(told.warnings, []);
  });

  it("waits for the place and starts when it is given up", async () => {
    await using tool = await toolbox();
    await tool.write("long", programPipeline(untilCancelled));
    await tool.write("hello", programPipeline(""));
    await tool.run(["run", "long", "--detach"]);
    const waiting = tool.spawn(["run", "hello"]);
    await written(waiting.stderr, /waiting up to 120 s/);
    await tool.run(["runs", "cancel", "--mine"]);
    const { exitCode, stdout } = await waiting;
    assert.equal(exitCode, 0);
    assert.match(stdout, /hello succeeded$/);
  });

  it("gives a free org one at a time, with a warning", async () => {
    await using tool = await toolbox();
    await tool.write("one", programPipeline(""));
    await tool.write("two", programPipeline(""));
    const { exitCode, stdout, stderr } = await tool.run(["run", "one", "two", "--parallel", "5", "--json"]);
    assert.equal(exitCode, 0);
    assert.match(stderr, /warning: --parallel 5 .*: 1 at the same time/);
    const told = JSON.parse(stdout);
    assert.equal(told.warnings.length, 1);
    assert.deepEqual(
      told.runs.map(({ pipeline, status }: { pipeline: string; status: string }) => `${pipeline} ${status}`),
      ["one succeeded", "two succeeded"],
    );
  });

  it("prints exactly one object and ends with 5 when the day is used up, and still 50 are used", async () => {
    await using tool = await toolbox();
    await tool.write("nightly", programPipeline(""));
    await tool.run(["org"]);
    await fillDay(tool.data, 50);
    for (const flags of [[], ["--json"]]) {
      const { exitCode, stdout } = await tool.run(["run", "nightly", ...flags]);
      assert.equal(exitCode, 5);
      const told = JSON.parse(stdout);
      const seconds = Number(/^retry after (\d+) s$/.exec(told.hints[0].doc)?.[1]);
      assert(seconds > 0 && seconds <= 86_400);
      assert.deepEqual(Object.keys(told), ["ok", "command", "error", "hints", "warnings"]);
      assert.equal(told.ok, false);
      assert.equal(told.command, "run");
      assert.equal(told.error.type, "too-many-runs");
      assert.match(told.error.message, new RegExp(`free-day.*\\b${seconds} s`));
      assert.deepEqual(told.hints, [{ command: "pipeline run nightly", doc: `retry after ${seconds} s` }]);
      assert.deepEqual(told.warnings, []);
    }
    const org = JSON.parse((await tool.run(["org", "--json"])).stdout);
    assert.equal(org.usage["runs-today"], 50);
  });

  it("names the nearest pipeline for a name that doesn't exist", async () => {
    await using tool = await toolbox();
    await tool.write("nightly", programPipeline(""));
    const { exitCode, stdout, stderr } = await tool.run(["run", "nightyl"]);
    assert.equal(exitCode, 2);
    assert.equal(stdout, "");
    assert.match(stderr, /no pipeline `nightyl`[\s\S]*Did you mean `nightly`\?/);
  });

  it("tells file, line and column of a broken pipeline file", async () => {
    await using tool = await toolbox();
    await tool.write("broken", "resources:\n  shell: { type: cli }\nsteps:\n  - use: shel\n    run: true\n");
    const { exitCode, stderr } = await tool.run(["run", "broken"]);
    assert.equal(exitCode, 2);
    assert.match(stderr, /pipelines\/broken\.yaml:4:\d+: .*shell/);
  });

  it("gives up its turn at Ctrl-C while waiting: exit code 130, no run used", async () => {
    await using tool = await toolbox();
    await tool.write("long", programPipeline(untilCancelled));
    await tool.write("hello", programPipeline(""));
    await tool.run(["run", "long", "--detach"]);
    const waiting = tool.spawn(["run", "hello"]);
    await written(waiting.stderr, /waiting up to 120 s/);
    waiting.kill("SIGINT");
    assert.equal((await waiting).exitCode, 130);
    await tool.run(["runs", "cancel", "--mine"]);
    const org = JSON.parse((await tool.run(["org", "--json"])).stdout);
    assert.equal(org.usage["runs-today"], 1);
  });

  it("cancels its run at Ctrl-C while following, and leaves once the processes are gone", async () => {
    await using tool = await toolbox();
    await tool.write("long", programPipeline(`${writePid} ${untilCancelled}`));
    const following = tool.spawn(["run", "long"]);
    const pid = await stepPid(tool.project);
    following.kill("SIGINT");
    const { exitCode, stderr } = await following;
    assert.equal(exitCode, 130);
    assert.match(stderr, /cancelled in/);
    assert(!isAlive(pid));
  });
});

describe("pipeline runs", () => {
  it("cancels one run by its id; a run that has stopped already is no error", async () => {
    await using tool = await toolbox();
    await tool.write("long", programPipeline(untilCancelled));
    const [run] = JSON.parse((await tool.run(["run", "long", "--detach", "--json"])).stdout)
      .runs as ToldRun[];
    const id = run?.["run-id"] ?? "";
    const cancelled = await tool.run(["runs", "cancel", id]);
    assert.equal(cancelled.exitCode, 0);
    assert.equal(cancelled.stdout, `${id} cancelling`);
    await tool.write("hello", programPipeline(""));
    assert.equal((await tool.run(["run", "hello"])).exitCode, 0);
    const again = JSON.parse((await tool.run(["runs", "cancel", id, "--json"])).stdout);
    assert.deepEqual(again, {
      ok: true,
      command: "runs cancel",
      runs: [{ "run-id": id, status: "cancelled" }],
      warnings: [],
    });
  });

  it("cancels each of the caller's own with --mine, and says so when there is none", async () => {
    await using tool = await toolbox();
    await tool.write("long", programPipeline(untilCancelled));
    const none = await tool.run(["runs", "cancel", "--mine"]);
    assert.equal(none.exitCode, 0);
    assert.match(none.stderr, /No run in work/);
    await tool.run(["run", "long", "--detach"]);
    assert.match((await tool.run(["runs", "cancel", "--mine"])).stdout, /^run_\w+ cancelling$/);
  });

  it("is told what is wrong when neither an id nor --mine is given, or both", async () => {
    await using tool = await toolbox();
    assert.equal((await tool.run(["runs", "cancel"])).exitCode, 2);
    assert.equal((await tool.run(["runs", "cancel", "run_1", "--mine"])).exitCode, 2);
    const unknown = await tool.run(["runs", "cancel", "run_1"]);
    assert.equal(unknown.exitCode, 2);
    assert.match(unknown.stderr, /no run `run_1`/);
  });

  it("lists the newest first", async () => {
    await using tool = await toolbox();
    assert.match((await tool.run(["runs", "list"])).stderr, /No runs yet/);
    await tool.write("hello", programPipeline(""));
    await tool.run(["run", "hello", "hello"]);
    const { runs } = JSON.parse((await tool.run(["runs", "list", "--json"])).stdout) as { runs: ToldRun[] };
    assert.equal(runs.length, 2);
    assert((runs[0]?.["run-id"] ?? "") > (runs[1]?.["run-id"] ?? ""));
    assert.match(
      (await tool.run(["runs", "list", "--limit", "1"])).stdout,
      /^run_\w+ +succeeded +hello .* s$/,
    );
  });
});

describe("pipeline serve and keys create", () => {
  it("print what the contract has, and make an org that the tool can use", async () => {
    await using tool = await toolbox();
    const serving = tool.spawn(["serve", "--port", "0", "--json"]);
    await written(serving.stdout, /\n/);
    const connection = await readConnection(tool.data);
    assert(connection !== undefined);
    const made = await tool.run(["keys", "create", "--role", "member", "--org", "Acme", "--json"]);
    assert.equal(made.exitCode, 0, made.stderr);
    const key = JSON.parse(made.stdout);
    assert.deepEqual(Object.keys(key), ["ok", "command", "org-id", "key-id", "role", "api-key"]);
    assert.equal(key.command, "keys create");
    assert.equal(key.role, "member");

    const named = { PIPELINE_BASE_URL: connection.url, PIPELINE_API_KEY: key["api-key"] };
    await tool.write("hello", programPipeline(""));
    assert.equal((await tool.run(["run", "hello"], named)).exitCode, 0);
    const org = JSON.parse((await tool.run(["org", "--json"], named)).stdout);
    assert.equal(org["org-name"], "Acme");
    assert.equal(org.actor, key["key-id"]);
    assert.equal(org.usage["runs-today"], 1);
    // Another key of the same org shares the day's count.
    const second = JSON.parse(
      (await tool.run(["keys", "create", "--role", "viewer", "--org", "Acme", "--json"])).stdout,
    );
    assert.equal(second["org-id"], key["org-id"]);
    const viewer = { ...named, PIPELINE_API_KEY: second["api-key"] };
    const refused = await tool.run(["run", "hello"], viewer);
    assert.equal(refused.exitCode, 3);

    serving.kill("SIGINT");
    const { exitCode, stdout } = await serving;
    assert.equal(exitCode, 0);
    assert.deepEqual(JSON.parse(stdout.split("\n")[0] ?? ""), {
      ok: true,
      command: "serve",
      url: connection.url,
      pid: serving.pid,
    });
    assert.equal(await readConnection(tool.data), undefined);
  });

  it("refuses to serve a folder twice, naming who does", async () => {
    await using tool = await toolbox();
    const serving = tool.spawn(["serve"]);
    await written(serving.stdout, /Serving at/);
    const second = await tool.run(["serve"]);
    assert.equal(second.exitCode, 2);
    assert.match(
      second.stderr,
      new RegExp(`served already at http://127\\.0\\.0\\.1:\\d+ \\(process ${serving.pid}\\)`),
    );
    serving.kill("SIGTERM");
    await serving;
  });

  it("says so when the port is taken", async () => {
    await using tool = await toolbox();
    await using other = await answering(200, "");
    const { exitCode, stderr } = await tool.run(["serve", "--port", new URL(other.url).port]);
    assert.equal(exitCode, 2);
    assert.match(stderr, /another program uses it[\s\S]*--port/);
  });
});

describe("the service that a tool starts", () => {
  it("is one, however many tools start at the same time", async () => {
    await using tool = await toolbox();
    const ends = await Promise.all(Array.from({ length: 6 }, () => tool.run(["org", "--json"])));
    for (const { exitCode, stderr } of ends) assert.equal(exitCode, 0, stderr);
    assert.equal(new Set(ends.map(({ stdout }) => JSON.parse(stdout)["org-id"])).size, 1);
  });

  it("is started anew after a kill -9: the run is lost, its processes are gone, its place is free", async () => {
    await using tool = await toolbox();
    await tool.write("long", programPipeline(`${writePid} ${untilCancelled}`));
    await tool.write("hello", programPipeline(""));
    await tool.run(["run", "long", "--detach"]);
    const pid = await stepPid(tool.project);
    const connection = await readConnection(tool.data);
    await endProcess(connection?.pid ?? 0, "SIGKILL");
    assert.equal((await tool.run(["run", "hello"])).exitCode, 0);
    assert(!isAlive(pid));
    const { runs } = JSON.parse((await tool.run(["runs", "list", "--json"])).stdout) as { runs: ToldRun[] };
    assert.deepEqual(
      runs.map(({ status }) => status),
      ["succeeded", "lost"],
    );
    const org = JSON.parse((await tool.run(["org", "--json"])).stdout);
    assert.equal(org.usage["runs-today"], 2);
  });
});

describe("a service that can't be used", () => {
  const key = { PIPELINE_API_KEY: "plr_some_key" };

  it("is out of reach: exit code 4, the host named, no key shown", async () => {
    await using tool = await toolbox();
    const gone = await answering(200, "");
    await gone[Symbol.asyncDispose]();
    const { exitCode, stderr } = await tool.run(["org"], { ...key, PIPELINE_BASE_URL: gone.url });
    assert.equal(exitCode, 4);
    assert(stderr.includes(new URL(gone.url).host));
    assert(!stderr.includes(key.PIPELINE_API_KEY));
  });

  it("answers nonsense: exit code 4", async () => {
    await using tool = await toolbox();
    for (const body of ["<html>hello</html>", "{}", '{"org-id":7}']) {
      await using other = await answering(200, body);
      const { exitCode, stderr } = await tool.run(["org"], { ...key, PIPELINE_BASE_URL: other.url });
      assert.equal(exitCode, 4, stderr);
    }
  });

  it("accepts no such key: exit code 3, and with --json one object", async () => {
    await using tool = await toolbox();
    const serving = tool.spawn(["serve"]);
    await written(serving.stdout, /Serving at/);
    const { url = "" } = (await readConnection(tool.data)) ?? {};
    const named = { ...key, PIPELINE_BASE_URL: url };
    const { exitCode, stdout } = await tool.run(["org", "--json"], named);
    assert.equal(exitCode, 3);
    const told = JSON.parse(stdout);
    assert.equal(told.ok, false);
    assert.equal(told.error.type, "unauthorized");
    serving.kill("SIGTERM");
    await serving;
  });

  it("has no key given: exit code 3, with what to do", async () => {
    await using tool = await toolbox();
    const { exitCode, stderr } = await tool.run(["org"], { PIPELINE_BASE_URL: "https://cloud.example" });
    assert.equal(exitCode, 3);
    assert.match(stderr, /PIPELINE_API_KEY/);
  });

  it("is named by what is no URL: exit code 2", async () => {
    await using tool = await toolbox();
    const { exitCode, stderr } = await tool.run(["org"], { ...key, PIPELINE_BASE_URL: "cloud" });
    assert.equal(exitCode, 2, stderr);
  });
});
