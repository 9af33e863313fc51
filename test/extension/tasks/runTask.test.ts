import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Stream } from "../../../src/cli/terminal/terminal.ts";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { PipelineError } from "../../../src/contract/errors.ts";
import type { SessionState } from "../../../src/extension/session/serviceConnection.ts";
import { LastUsed } from "../../../src/extension/start/lastUsed.ts";
import { Waits } from "../../../src/extension/start/waitNotice.ts";
import { type RunTaskDeps, runTask } from "../../../src/extension/tasks/runTask.ts";
import { ObservableValue } from "../../../src/extension/window/observable.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { Screen } from "../../cli/screen.ts";
import { CountedFetch, drive } from "../../client/drive.ts";
import { LoopbackService, orgOnWire, runOnWire, sendError, sendJson } from "../../client/loopbackService.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { isAlive } from "../../isAlive.ts";
import {
  programPipeline,
  started,
  startedService,
  untilCancelled,
  writePid,
  writtenPid,
} from "../../service/startedService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { memoryMemento } from "../memoryMemento.ts";
import { answeringWindow, backButton } from "../start/answeringWindow.ts";
import { namesOf } from "../start/namesOf.ts";

const never = new AbortController().signal;

/** What a task was given, and how it is ended by the test. */
function taskOf(client: ServiceClient | (() => Promise<ServiceClient>), others: Partial<RunTaskDeps> = {}) {
  const read = readScreen();
  const interrupts = new AbortController();
  const leaves = new AbortController();
  const waits = new Waits();
  const quiet: string[] = [];
  const connect = async () => (typeof client === "function" ? client() : client);
  const deps: RunTaskDeps = {
    session: {
      connect,
      reconnect: connect,
      noteChange: () => {},
      state: new ObservableValue<SessionState>({ kind: "connecting" }),
    },
    target: () => ({ kind: "embedded" }),
    waits,
    announcer: {
      suppress: (runId) => {
        quiet.push(runId);
        return () => {};
      },
    },
    lastUsed: new LastUsed(memoryMemento()),
    window: answeringWindow([]).window,
    backButton,
    projectNames: namesOf(),
    folders: () => [],
    isTrusted: () => true,
    cliPath: () => undefined,
    env: process.env,
    runs: { retain: () => ({ dispose: () => {} }) },
    saveFiles: async () => {},
    signal: never,
    ...others,
  };
  return {
    read,
    waits,
    quiet,
    interrupt: () => interrupts.abort(new Error("interrupted")),
    leave: () => leaves.abort(new Error("interrupted")),
    run: (definition: object, folder?: string) =>
      runTask(
        definition,
        folder,
        { stream: read.stream, interrupted: interrupts.signal, leaving: leaves.signal },
        deps,
      ),
  };
}

describe("a task that runs a pipeline", () => {
  it("prints each step with its log in colours, and ends with 0", async () => {
    await using service = await startedService();
    const { baseUrl, apiKey } = (await service.member()).client;
    // It stands still: the last lines of a step are waited for, however loaded the machine is.
    const client = new ServiceClient({ baseUrl, apiKey, clock: new FakeClock() });
    await service.write(
      "hello",
      programPipeline("console.log('\\u001b[32mgreen\\u001b[0m'); console.log('two')"),
    );
    const task = taskOf(client);
    assert.equal(await task.run({ type: "pipeline", pipeline: "hello" }, service.project.root), 0);
    const [begun = "", ...rest] = task.read.lines;
    const [, runId = ""] = /^hello: (run_\w+) started$/.exec(begun) ?? [];
    assert.deepEqual(task.quiet, [runId], "its end is not announced as well");
    const expected = [
      /^\$ /, // the step's own note, as is the one of its exit code
      /^green$/,
      /^two$/,
      /^exited with 0 after /,
      /^ {2}✓ only \([\d.]+ m?s\)$/,
      /^hello: succeeded in [\d.]+ m?s$/,
      new RegExp(`^${runId} hello succeeded$`),
    ];
    assert.equal(rest.length, expected.length, rest.join("\n"));
    for (const [at, pattern] of expected.entries()) assert.match(rest[at] ?? "", pattern);
    assert(task.read.raw.includes("\u001b[32mgreen"));
  });

  it("brings the inputs of its definition, asks for those that are missing, and starts nothing without them", async () => {
    await using service = await startedService();
    const { baseUrl, apiKey } = (await service.member()).client;
    const client = new ServiceClient({ baseUrl, apiKey, clock: new FakeClock() });
    await service.write("deploy", `inputs: { region: { type: text }, lamps: 2 }\n${programPipeline("")}`);
    const { window, asked } = answeringWindow([{ value: "eu" }, undefined]);
    const task = taskOf(client, { window });
    const definition = { type: "pipeline", pipeline: "deploy", inputs: { lamps: 3 } };
    assert.equal(await task.run(definition, service.project.root), 0);
    assert.equal(await task.run(definition, service.project.root), 130);
    assert.equal(task.read.lines.at(-1), "Nothing was started: the inputs of deploy were not given.");
    assert.deepEqual(
      asked.map(({ title }) => title),
      ["Run deploy: region", "Run deploy: region"],
    );
    const { runs } = await client.runs({}, never);
    assert.deepEqual(
      runs.map(({ inputs }) => inputs),
      [{ region: "eu", lamps: 3 }],
    );
  });

  it("ends with 0 where the service doesn't tell how the run ends, and says so", async () => {
    await using service = await LoopbackService.listen(({ method, path }, response) => {
      if (path === "/api/org") return sendJson(response, 200, orgOnWire);
      if (method === "POST") {
        return sendJson(response, 201, { "run-id": "r 1", status: "queued", actor: "key_1" });
      }
      sendError(response, 404, "not-found");
    });
    const task = taskOf(service.client(systemClock));
    assert.equal(await task.run({ type: "pipeline", pipeline: "hello" }), 0);
    const { host } = new URL(service.origin);
    assert.deepEqual(task.read.lines, [
      "hello: r 1 started",
      "pipeline: warning: hello: its log can't be read: as told",
      `pipeline: warning: hello: ${host} doesn't report how r 1 ends.`,
      "r 1 hello queued",
    ]);
  });

  it("has the list of runs tell which step failed, while it runs, and ends with 1", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("fails", programPipeline("console.log('it is broken'); process.exit(3)"));
    const retained: string[] = [];
    const retain = () => {
      retained.push("retained");
      return { dispose: () => void retained.push("released") };
    };
    const task = taskOf(client, { runs: { retain } });
    const ended = task.run({ type: "pipeline", pipeline: "fails" }, service.project.root);
    assert.deepEqual(retained, ["retained"]);
    assert.equal(await ended, 1);
    assert.deepEqual(retained, ["retained", "released"]);
    assert.match(task.read.lines.join("\n"), /^pipeline: fails failed at step `only`\.$/m);
  });

  it("tells the problems of a broken file, and ends with 2", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write(
      "broken",
      "resources:\n  shell: { type: clii }\nsteps:\n  - use: shell\n    run: true\n",
    );
    const task = taskOf(client);
    assert.equal(await task.run({ type: "pipeline", pipeline: "broken" }, service.project.root), 2);
    assert.match(
      task.read.lines.join("\n"),
      /^pipelines\/broken\.yaml:2:18: there is no resource type `clii`/m,
    );
  });

  it("cancels its run when it is interrupted, waits until the slot is free, and ends with 130", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("long", programPipeline(`${writePid} ${untilCancelled}`, "10m"));
    const task = taskOf(client);
    const ended = task.run({ type: "pipeline", pipeline: "long", timeLimit: "5m" }, service.project.root);
    const pid = await writtenPid(join(service.project.root, "pid"));
    task.interrupt();
    assert.equal(await ended, 130);
    assert(!isAlive(pid));
    const { runs } = await client.runs({}, never);
    assert.deepEqual(
      runs.map(({ status, timeLimitSeconds }) => [status, timeLimitSeconds]),
      [["cancelled", 300]],
    );
    assert.match(
      task.read.lines.join("\n"),
      /^long: cancelled in .*\nrun_\w+ long cancelled\npipeline: interrupted: long cancelled \(run_\w+\)\.$/m,
    );
  });

  it("waits with the seconds left, and leaves the queue when it is interrupted, which makes no run", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("long", programPipeline(untilCancelled, "10m"));
    const holder = await started(client, "long");
    const task = taskOf(client);
    const ended = task.run({ type: "pipeline", pipeline: "long" }, service.project.root);
    await new Promise<void>((resolve) => task.waits.current.observe(([wait]) => wait && resolve()));
    while (!task.read.lines.some((line) => /gives up in 120 s$/.test(line)))
      await systemClock.sleep(10, never);
    assert.match(
      task.read.lines.join("\n"),
      new RegExp(`^long: waiting for long \\(${holder.runId}, up to .+ left\\) to finish; gives up in 120 s`),
    );
    task.interrupt();
    assert.equal(await ended, 130);
    assert.equal(
      task.read.lines.at(-1),
      "pipeline: interrupted: long stopped waiting, and no run was started.",
    );
    assert.deepEqual(task.waits.current.value, []);
    assert.equal((await client.runs({}, never)).runs.length, 1);
    await client.cancel(holder.runId, never);
  });

  it("tells of a slot that doesn't come free with the hints, after the wait, and ends with 5", async () => {
    const taken = { error: { type: "too-many-runs", message: "taken", scope: "org" } };
    await using service = await LoopbackService.listen((asked, response) => {
      if (asked.method === "POST") sendJson(response, 429, taken);
      else response.writeHead(404).end();
    });
    const clock = new FakeClock();
    const counted = new CountedFetch();
    const task = taskOf(service.client(clock, { fetch: counted.fetch }));
    const ended = task.run({ type: "pipeline", pipeline: "nightly" });
    assert.equal(await drive(ended, clock, service, counted), 5);
    const [waiting, refusal = "", ...lines] = task.read.lines;
    assert.equal(waiting, "nightly: waiting for another run to finish; gives up in 120 s");
    assert.equal(JSON.parse(refusal).error.type, "too-many-runs");
    assert.deepEqual(lines, [
      "pipeline: nightly was not started: another run holds the slot, and it did not become free within 2 min.",
      "Hint: pipeline runs cancel --mine, which cancels your runs",
      "Hint: pipeline run nightly, once the slot is free",
    ]);
  });

  it("never takes its start to another service because the settings have changed meanwhile", async () => {
    const taken = { error: { type: "too-many-runs", message: "taken", scope: "org" } };
    await using other = await LoopbackService.listen((_, response) => sendJson(response, 201, runOnWire()));
    let hasChanged = false;
    await using first = await LoopbackService.listen((asked, response) => {
      if (asked.method !== "POST") response.writeHead(404).end();
      else if (asked.headers["prefer"] === undefined) sendJson(response, 429, taken);
      else {
        hasChanged = true;
        response.destroy();
      }
    });
    const clock = new FakeClock();
    const counted = new CountedFetch();
    const connect = async () => (hasChanged ? other : first).client(clock, { fetch: counted.fetch });
    for (const kind of ["remote", "embedded"] as const) {
      hasChanged = false;
      const moved = { kind: "remote", baseUrl: new URL(other.origin) } as const;
      const target = () => (hasChanged || kind === "remote" ? moved : { kind });
      const task = taskOf(connect, { target });
      const ended = task.run({ type: "pipeline", pipeline: "nightly" });
      assert.equal(await drive(ended, clock, first, counted), 4, task.read.lines.join("\n"));
      assert.deepEqual(other.asked, []);
    }
  });

  it("is refused with its time limit where only the service's own tool starts runs, which takes none", async () => {
    await using service = await LoopbackService.listen((_, response) => void response.writeHead(404).end());
    const task = taskOf(service.client(systemClock), { cliPath: () => process.execPath });
    assert.equal(await task.run({ type: "pipeline", pipeline: "nightly", timeLimit: "5s" }), 2);
    assert.match(
      task.read.lines.join("\n"),
      /takes nothing but a pipeline's name\.\nStart the whole pipeline, without a time limit and inputs\.$/,
    );
  });

  it("keeps its time limit in the hint to retry", async () => {
    const usedUp = { error: { type: "too-many-runs", message: "used up", scope: "free-day" } };
    await using service = await LoopbackService.listen((_, response) => sendJson(response, 429, usedUp));
    const task = taskOf(service.client(systemClock));
    assert.equal(await task.run({ type: "pipeline", pipeline: "nightly", timeLimit: "5s" }), 5);
    assert.match(task.read.lines.join("\n"), /Hint: pipeline run nightly --time-limit 5, from then on/);
  });

  it("waits for no slot on a day that is used up, and ends with 5", async () => {
    const usedUp = { error: { type: "too-many-runs", message: "used up", scope: "free-day" } };
    await using service = await LoopbackService.listen((_, response) => sendJson(response, 429, usedUp));
    const task = taskOf(service.client(systemClock));
    assert.equal(await task.run({ type: "pipeline", pipeline: "nightly" }), 5);
    assert.match(
      task.read.lines.join("\n"),
      /^pipeline: nightly was not started: today's runs are used up\. .* in .+\.\nHint: pipeline run nightly, from then on$/m,
    );
  });

  it("says what is wrong, and ends with the tool's exit code for it", async () => {
    const failing = (type: ConstructorParameters<typeof PipelineError>[0]) =>
      taskOf(() => Promise.reject(new PipelineError(type, "It can't be.", { next: "Do this." })));
    for (const [type, exitCode] of [
      ["unauthorized", 3],
      ["out-of-reach", 4],
      ["not-found", 2],
    ] as const) {
      const task = failing(type);
      assert.equal(await task.run({ type: "pipeline", pipeline: "a" }), exitCode);
      assert.deepEqual(task.read.lines, ["pipeline: It can't be.", "Do this."]);
    }
    const unreadable = failing("internal");
    assert.equal(await unreadable.run({ type: "pipeline" }), 2);
    assert.equal(await unreadable.run({ type: "pipeline", pipeline: "a", timeLimit: "soon" }), 2);
    assert.match(
      unreadable.read.lines.join("\n"),
      /`pipeline` is missing[\s\S]*`timeLimit` is seconds or a text/,
    );
    const untrusted = taskOf(() => Promise.reject(new Error("nobody may be asked")), {
      isTrusted: () => false,
    });
    assert.equal(await untrusted.run({ type: "pipeline", pipeline: "a" }), 2);
    assert.match(untrusted.read.lines.join(), /isn't trusted/);
  });

  it("leaves at once at the second interrupt, also when the run can't be seen to end", async () => {
    await using service = await LoopbackService.listen((asked, response) => {
      if (asked.method === "POST" && asked.path === "/api/runs") sendJson(response, 201, runOnWire());
      else if (asked.path === "/api/runs/run_1") sendJson(response, 200, runOnWire());
      else if (asked.path.endsWith("/cancel"))
        sendJson(response, 200, { "run-id": "run_1", status: "cancelling" });
      else response.writeHead(404).end();
    });
    const task = taskOf(service.client(systemClock));
    const ended = task.run({ type: "pipeline", pipeline: "nightly" });
    await service.until(() => service.asked.some(({ path }) => path === "/api/runs/run_1"));
    task.interrupt();
    await service.until(() => service.asked.some(({ path }) => path.endsWith("/cancel")));
    task.leave();
    assert.equal(await ended, 130);
  });

  it("finds its project by name, and by its pipeline when a task belongs to no folder", async () => {
    await using service = await startedService();
    await using other = await startedService();
    const { client } = await service.member();
    await other.write("elsewhere", programPipeline(""));
    await service.write("hello", programPipeline("console.log('found')"));
    await writeFile(join(other.project.root, "pipelines", "more.yaml"), programPipeline(""));
    const folders = () => [other.project.root, service.project.root];
    const task = taskOf(client, { folders });
    assert.equal(await task.run({ type: "pipeline", pipeline: "hello" }), 0);
    const named = taskOf(client, { folders });
    const definition = { type: "pipeline", pipeline: "hello", project: service.project.name };
    assert.equal(await named.run(definition, other.project.root), 0);
    assert(named.read.lines.includes("found"));
  });

  it("means its folder's own project by that folder's name, whatever the service calls it", async () => {
    await using service = await LoopbackService.listen(({ method }, response) =>
      method === "POST" ? sendJson(response, 201, runOnWire()) : void response.writeHead(404).end(),
    );
    await using folder = await TemporaryFolder.make();
    await mkdir(join(folder.path, "pipelines"));
    await writeFile(join(folder.path, "pipelines/hello.yaml"), programPipeline(""));
    const projectNames: RunTaskDeps["projectNames"] = {
      register: async (_, { root }) => ({ name: "another", root }),
    };
    const task = taskOf(service.client(systemClock), { projectNames });
    const definition = { type: "pipeline", pipeline: "hello", project: basename(folder.path) };
    await task.run(definition, folder.path);
    const sent = service.asked.filter(({ method }) => method === "POST").map(({ body }) => JSON.parse(body));
    assert.deepEqual(
      sent.map(({ project }) => project),
      ["another"],
    );
  });

  it("takes the window's first of two projects that have its pipeline, and asks nothing", async () => {
    await using service = await startedService();
    await using other = await startedService();
    const { client } = await service.member();
    await service.write("hello", programPipeline("console.log('first')"));
    await other.write("hello", programPipeline("console.log('second')"));
    await using bare = await TemporaryFolder.make();
    const { window, asked } = answeringWindow([]);
    const task = taskOf(client, { window, folders: () => [service.project.root, other.project.root] });
    assert.equal(await task.run({ type: "pipeline", pipeline: "hello" }, bare.path), 0);
    assert(task.read.lines.includes("first"));
    assert.deepEqual(asked, []);
  });

  it("runs no pipeline that only a project outside the window has", async () => {
    await using service = await startedService();
    await using other = await startedService();
    const { baseUrl, apiKey } = (await service.member()).client;
    const client = new ServiceClient({ baseUrl, apiKey, environment: {} });
    await service.addProject(client);
    await service.write("hello", programPipeline(""));
    await other.write("elsewhere", programPipeline(""));
    await using bare = await TemporaryFolder.make();
    for (const folders of [[], [bare.path], [bare.path, other.project.root]]) {
      const task = taskOf(client, { folders: () => folders });
      assert.equal(await task.run({ type: "pipeline", pipeline: "hello" }, bare.path), 2, task.read.raw);
    }
    assert.deepEqual((await client.runs({}, never)).runs, []);
  });
});

const columns = 400;

/** A task's stream whose lines a test reads as a person does: without colours, and without what was drawn over. */
function readScreen() {
  const screen = new Screen(columns);
  let raw = "";
  const write = (text: string): void => {
    raw += text;
    screen.write(text.replaceAll("\n", "\r\n"));
  };
  return {
    stream: { isTTY: true, columns, rows: 24, write } satisfies Stream,
    /** All that was written. */
    get raw() {
      return raw;
    },
    get lines() {
      return linesOf(screen);
    },
  };
}

/** The lines that stand on a terminal. */
function linesOf(screen: Screen): string[] {
  const lines = screen.text.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}
