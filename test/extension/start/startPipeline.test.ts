import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import type { ServiceClient } from "../../../src/client/service/client.ts";
import { RunAnnouncer } from "../../../src/extension/announce/runAnnouncer.ts";
import type { OrgReading, SessionState } from "../../../src/extension/session/serviceConnection.ts";
import type { ChosenStart } from "../../../src/extension/start/chooseStart.ts";
import { type StartPipelineDeps, startPipeline } from "../../../src/extension/start/startPipeline.ts";
import { Waits } from "../../../src/extension/start/waitNotice.ts";
import { Emitter, ObservableValue } from "../../../src/extension/window/observable.ts";
import { Shutdown } from "../../../src/extension/window/shutdown.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { CountedFetch, drive } from "../../client/drive.ts";
import { LoopbackService, orgOnWire, runOnWire, sendJson, testKey } from "../../client/loopbackService.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { itOn } from "../../itOn.ts";
import {
  ended,
  programPipeline,
  started,
  startedService,
  untilCancelled,
} from "../../service/startedService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { memoryClaims } from "../memoryClaims.ts";
import { fakeWindow } from "./fakeWindow.ts";

function depsOf(presses: string[], others: Partial<StartPipelineDeps> = {}) {
  const { shown, texts, window } = fakeWindow(presses);
  const { signal } = new AbortController();
  const logged: string[] = [];
  const log = { info: (line: string) => logged.push(line), warn: (line: string) => logged.push(line) };
  const executed: [string, ...unknown[]][] = [];
  const executeCommand = async (...command: [string, ...unknown[]]) => executed.push(command);
  const waits = new Waits();
  const pressed: [string, ChosenStart][] = [];
  const noting = (name: string) => async (start: ChosenStart) => void pressed.push([name, start]);
  const announcer = new RunAnnouncer({
    window,
    session: {
      runChanged: new Emitter(),
      state: new ObservableValue<SessionState>({ kind: "idle" }),
      reading: new ObservableValue<OrgReading | undefined>(undefined),
      currentClient: undefined,
    },
    claims: memoryClaims(),
    clock: systemClock,
    log,
    signal,
    level: () => "myFailures",
    setLevel: async () => {},
    executeCommand,
    showProblem: async () => {},
  });
  const deps: StartPipelineDeps = {
    session: idleSession(() => Promise.reject(new Error("by whom?"))),
    projectNames: { register: async (_, { root }) => ({ name: "shop", root }) },
    target: () => ({ kind: "embedded" }),
    waits,
    shutdown: new Shutdown(),
    refusalActions: {
      "retry-at-reset": noting("retry-at-reset"),
      "cancel-mine": noting("cancel-mine"),
      "who-holds": noting("who-holds"),
      "what-counts": noting("what-counts"),
    },
    announcer,
    window,
    executeCommand,
    log,
    cliPath: () => undefined,
    folders: () => [],
    env: process.env,
    signal,
    ...others,
  };
  return { deps, shown, texts, waits, executed, pressed, logged };
}

function idleSession(connect: () => Promise<ServiceClient>): StartPipelineDeps["session"] {
  return {
    connect,
    reconnect: connect,
    noteChange: () => {},
    state: new ObservableValue<SessionState>({ kind: "idle" }),
  };
}

/** A session with this client. */
function by(client: ServiceClient): Pick<StartPipelineDeps, "session"> {
  return { session: idleSession(async () => client) };
}

const wish = { pipeline: "nightly", project: "shop", root: undefined };
const taken = { error: { type: "too-many-runs", message: "taken", scope: "org" } };
const usedUp = { error: { type: "too-many-runs", message: "used up", scope: "free-day" } };

describe("starting a pipeline from the editor", () => {
  it("shows a success once, in the status bar", async () => {
    await using service = await LoopbackService.listen((asked, response) => {
      const end = { status: "succeeded", "stopped-at": "2026-03-03T10:00:02Z" };
      if (asked.method === "POST") sendJson(response, 201, runOnWire());
      else if (asked.path === "/api/runs/run_1") sendJson(response, 200, runOnWire(end));
      else response.writeHead(404).end();
    });
    const { deps, shown } = depsOf([]);
    await startPipeline(wish, { ...deps, ...by(service.client(systemClock)) });
    const all = await shown.atLeast(1);
    assert.deepEqual(
      all.map(({ text }) => text),
      ["$(check) nightly succeeded in 2 s"],
    );
  });

  it("shows the wait only when there is one, and leaves the queue when it is cancelled", async () => {
    await using service = await LoopbackService.listen(async (asked, response, gone) => {
      if (asked.headers["prefer"] === undefined) sendJson(response, 429, taken);
      else await service.hold(systemClock, 120_000, gone);
    });
    const { deps, shown, waits } = depsOf(["Cancel"]);
    await startPipeline(wish, { ...deps, ...by(service.client(systemClock)) });
    assert.deepEqual(
      shown.all.map(({ text }) => text),
      ["nightly is waiting for a slot; gives up in 120 s"],
    );
    assert.deepEqual(waits.current.value, []);
    assert.equal(service.held, 0);
  });

  it("shows a refusal once, and asks again at Retry", async () => {
    let refusals = 0;
    await using service = await LoopbackService.listen((asked, response) => {
      if (asked.method === "POST" && refusals++ < 2) sendJson(response, 429, usedUp);
      else if (asked.method === "POST") sendJson(response, 201, runOnWire());
      else
        sendJson(
          response,
          200,
          runOnWire({ status: "failed", reason: "a step failed", "stopped-at": "2026-03-03T10:00:02Z" }),
        );
    });
    const { deps, shown } = depsOf(["Retry", "Retry"]);
    await startPipeline(wish, { ...deps, ...by(service.client(systemClock)) });
    const all = await shown.atLeast(3);
    assert.deepEqual(
      all.map(({ kind }) => kind),
      ["warning", "warning", "error"],
    );
    assert.deepEqual(all[0]?.buttons, ["Retry", "Retry at 00:00 UTC", "What Counts as a Run?"]);
    assert.match(all[2]?.text ?? "", /^nightly failed: a step failed/);
    const keys = service.asked
      .filter(({ method }) => method === "POST")
      .map(({ headers }) => headers["idempotency-key"]);
    assert.equal(new Set(keys).size, 3, "each Retry is a wish of its own");
  });

  it("asks again at Retry for what the project's folder leads to by then", async () => {
    await using service = await LoopbackService.listen((_, response) => sendJson(response, 429, usedUp));
    const { deps } = depsOf(["Retry"]);
    const names = ["r1", "current"];
    const register = async (_: unknown, { root }: { root: string }) => ({ name: names.shift() ?? "", root });
    const start = { pipeline: "nightly", project: "r1", root: "/srv/current" };
    await startPipeline(start, {
      ...deps,
      ...by(service.client(systemClock)),
      projectNames: { register },
    });
    const posts = service.asked.filter(({ method }) => method === "POST");
    assert.deepEqual(
      posts.map(({ body }) => JSON.parse(body).project),
      ["r1", "current"],
    );
  });

  it("runs what was asked for, although the file was edited while the start waited", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    await service.write("deploy", `inputs: { region: { type: text }, lamps: 2 }\n${programPipeline("")}`);
    const { runId } = await started(client, "long");
    const { deps, shown, texts } = depsOf([]);
    const { name: project } = service.project;
    const start = { pipeline: "deploy", project, inputs: { region: "eu" }, root: undefined };
    const starting = startPipeline(start, { ...deps, ...by(client) });
    await shown.atLeast(1);
    assert.match(texts("progress")[0] ?? "", /^deploy is waiting/);
    // The service has read the file.
    while ((await service.db.selectFrom("waiters").selectAll().execute()).length === 0) await turn();
    await service.write("deploy", programPipeline("process.exit(1)").replace("only", "another"));
    await client.cancel(runId, new AbortController().signal);
    await starting;
    const [made] = (await client.runs({ pipeline: "deploy" }, new AbortController().signal)).runs;
    const run = await ended(client, made ?? assert.fail());
    assert.deepEqual([run.status, run.inputs], ["succeeded", { region: "eu", lamps: 2 }]);
    assert.deepEqual(
      run.steps?.map(({ name }) => name),
      ["only"],
    );
  });

  it("names who holds the slot as the events tell it, and asks for no more", async () => {
    await using service = await LoopbackService.listen((asked, response) => {
      if (asked.headers["prefer"] === undefined) sendJson(response, 429, taken);
      else sendJson(response, 201, runOnWire());
    });
    const { deps, texts, shown } = depsOf([]);
    const client = service.client(systemClock);
    const org = {
      ...{ orgId: "org_1", orgName: "lamps", tier: "free", actor: "key_1" },
      ...{ limits: { parallelRuns: 1, runsPerDay: 50 }, usage: { runsToday: 7 } },
    };
    const activeRuns = [{ runId: "run_0", pipeline: "long", status: "running", actor: "key_1" }];
    const state = new ObservableValue<SessionState>({ kind: "live", org, activeRuns });
    const session = { ...idleSession(async () => client), state };
    const starting = startPipeline(wish, { ...deps, session });
    await shown.atLeast(1);
    assert.equal(texts("progress")[0], "nightly is waiting for long (your run) to finish; gives up in 120 s");
    await starting;
    const unasked = service.asked.filter(({ path }) => /^\/api\/(?:org|runs\?)/.test(path));
    assert.deepEqual(unasked, []);
  });

  it("keeps the inputs in the hint to retry", async () => {
    await using service = await LoopbackService.listen((asked, response) => {
      if (asked.path === "/healthz") sendJson(response, 200, { ok: true, inputs: true });
      else sendJson(response, 429, usedUp);
    });
    const { deps, texts } = depsOf([]);
    await startPipeline(
      { ...wish, inputs: { region: "eu" } },
      { ...deps, ...by(service.client(systemClock)) },
    );
    assert.match(texts("warning")[0] ?? "", /Hint: pipeline run nightly --input region=eu/);
  });

  itOn(
    "posix",
    "[contract, The extension: start against a service…] starts through the service's own tool where HTTP can't, and shows that tool's hints",
    async () => {
      await using folder = await TemporaryFolder.make();
      const cliPath = join(folder.path, "cloud");
      const refusal = {
        ok: false,
        command: "run",
        error: { type: "too-many-runs", message: "free-day: retry in 4321 s" },
        hints: [{ command: "cloud run nightly", doc: "retry after 4321 s" }],
        warnings: [],
      };
      await writeFile(cliPath, `#!/bin/sh\necho '${JSON.stringify(refusal)}'\nexit 5\n`);
      await chmod(cliPath, 0o755);
      await using service = await LoopbackService.listen((asked, response) => {
        if (asked.path === "/api/org") sendJson(response, 200, orgOnWire);
        else response.writeHead(404).end();
      });
      const { deps, shown } = depsOf([], { cliPath: () => cliPath });
      await startPipeline({ ...wish, root: folder.path }, { ...deps, ...by(service.client(systemClock)) });
      const [toast] = shown.all.filter(({ kind }) => kind === "warning");
      assert.match(toast?.text ?? "", /Hint: cloud run nightly \(retry after 4321 s\)\./);
      assert.match(toast?.text ?? "", /in 1 h 12 min/);
      assert(!JSON.stringify(shown.all).includes(testKey));
    },
  );

  it("says which setting is missing for such a service", async () => {
    await using service = await LoopbackService.listen((_, response) => void response.writeHead(404).end());
    const { deps } = depsOf([]);
    await assert.rejects(startPipeline(wish, { ...deps, ...by(service.client(systemClock)) }), {
      type: "usage",
      next: /pipelineRuns\.cliPath/,
    });
  });

  it("cancels one's own runs from the refusal of a taken slot", async () => {
    await using service = await LoopbackService.listen((_, response) => sendJson(response, 429, taken));
    const clock = new FakeClock();
    const counted = new CountedFetch();
    const { deps, shown, pressed } = depsOf(["Cancel My Runs"]);
    const client = service.client(clock, { fetch: counted.fetch });
    await drive(startPipeline(wish, { ...deps, ...by(client) }), clock, service, counted);
    const refusal = shown.all.at(-1);
    assert.deepEqual(refusal?.buttons, ["Retry", "Cancel My Runs"]);
    assert.match(
      refusal?.text ?? "",
      /another run holds the slot, .* within 2 min\..*Hint: pipeline runs cancel --mine/,
    );
    assert.deepEqual(pressed, [["cancel-mine", wish]]);
  });

  it("hands the very start that was refused to the other buttons", async () => {
    await using service = await LoopbackService.listen((asked, response) => {
      if (asked.path === "/healthz") sendJson(response, 200, { ok: true, inputs: true });
      else sendJson(response, 429, usedUp);
    });
    const start = { ...wish, timeLimitSeconds: 5, fromStep: "publish", inputs: { region: "eu" } };
    for (const [button, name] of [
      ["Retry at 00:00 UTC", "retry-at-reset"],
      ["What Counts as a Run?", "what-counts"],
    ] as const) {
      const { deps, pressed } = depsOf([button]);
      await startPipeline(start, { ...deps, ...by(service.client(systemClock)) });
      assert.deepEqual(pressed, [[name, start]]);
    }
  });

  it("says who holds the slot while it waits, and takes its own notification back at the end of the wait", async () => {
    const holder = runOnWire({ "run-id": "run_9", pipeline: "long", actor: "key_2", "actor-name": "ada" });
    await using service = await LoopbackService.listen((asked, response) => {
      if (asked.method === "POST") sendJson(response, 429, taken);
      else if (asked.path === "/api/org") sendJson(response, 200, orgOnWire);
      else sendJson(response, 200, { runs: [holder] });
    });
    const clock = new FakeClock();
    const counted = new CountedFetch();
    const { deps, shown, texts, waits } = depsOf([]);
    const client = service.client(clock, { fetch: counted.fetch });
    await drive(startPipeline(wish, { ...deps, ...by(client) }), clock, service, counted);
    assert(texts("progress").includes("nightly is waiting for long (by ada) to finish; gives up in 60 s"));
    assert.deepEqual(shown.all.at(-1)?.buttons, ["Retry", "Who Holds the Slot"]);
    assert.equal(texts("warning").length, 1);
    assert.deepEqual(waits.current.value, []);
  });

  it("waits in the queue a second time only when that is wanted", async () => {
    await using service = await LoopbackService.listen(async (asked, response, gone) => {
      if (asked.headers["prefer"] === undefined) sendJson(response, 429, taken);
      else await service.hold(systemClock, 120_000, gone);
    });
    const presses: string[] = [];
    const { deps, shown, texts, waits } = depsOf(presses);
    const all = { ...deps, ...by(service.client(systemClock)) };
    const first = startPipeline(wish, all);
    await shown.atLeast(1);
    const starts = () => service.asked.filter(({ method }) => method === "POST").length;
    await service.until(() => service.held === 1);
    const before = starts();
    await startPipeline(wish, all);
    // It may stand there for longer than the wait.
    assert.equal(texts("info")[0], "nightly was not started again, since it was waiting for a slot already.");
    assert.equal(starts(), before);
    presses.push("Wait Twice");
    const second = startPipeline(wish, all);
    await service.until(() => service.held === 2);
    assert.equal(waits.current.value.length, 2);
    waits.stop(wish);
    await second;
    await service.until(() => service.held === 1);
    assert.equal(waits.current.value.length, 1);
    waits.stop(wish);
    await first;
    assert.deepEqual(waits.current.value, []);
    await service.until(() => service.held === 0);
  });

  it("makes one run of a double click, and another one of a later click", async () => {
    const answering = Promise.withResolvers<void>();
    let starts = 0;
    await using service = await LoopbackService.listen(async (asked, response) => {
      if (asked.method !== "POST") {
        sendJson(response, 200, runOnWire({ status: "succeeded", "stopped-at": "2026-03-03T10:00:02Z" }));
        return;
      }
      starts += 1;
      await answering.promise;
      sendJson(response, 201, runOnWire());
    });
    const { deps } = depsOf([]);
    const all = { ...deps, ...by(service.client(systemClock)) };
    const first = startPipeline(wish, all);
    await startPipeline(wish, all);
    const other = startPipeline({ ...wish, project: "lamps" }, all);
    answering.resolve();
    await Promise.all([first, other]);
    assert.equal(starts, 2, "one for each project");
    await startPipeline(wish, all);
    assert.equal(starts, 3);
  });

  it("can ask again where the first time the service was out of reach", async () => {
    await using service = await LoopbackService.listen((asked, response) => {
      const end = { status: "succeeded", "stopped-at": "2026-03-03T10:00:02Z" };
      sendJson(response, asked.method === "POST" ? 201 : 200, runOnWire(asked.method === "POST" ? {} : end));
    });
    const { deps, shown } = depsOf([]);
    await assert.rejects(startPipeline(wish, deps), /by whom/);
    await startPipeline(wish, { ...deps, ...by(service.client(systemClock)) });
    await shown.atLeast(1);
  });

  it("cancels a run that was granted in the moment in which its start was given up, and announces nothing of it", async () => {
    const given = Promise.withResolvers<void>();
    await using service = await LoopbackService.listen(async (asked, response) => {
      if (asked.path.endsWith("/cancel")) {
        sendJson(response, 200, { "run-id": "run_1", status: "cancelling" });
      } else if (asked.headers["prefer"] === undefined) sendJson(response, 429, taken);
      else {
        // The answer is on its way when the person stops waiting.
        response.writeHead(201, { "content-type": "application/json" }).flushHeaders();
        given.resolve();
        await service.until(() => stopped);
        response.end(JSON.stringify(runOnWire()));
      }
    });
    let stopped = false;
    const { deps, shown, waits, logged } = depsOf([]);
    const starting = startPipeline(wish, { ...deps, ...by(service.client(systemClock)) });
    await given.promise;
    await shown.atLeast(1);
    waits.stop(wish);
    stopped = true;
    // Any request wakes who waits for a change at the server.
    await fetch(service.origin).catch(() => undefined);
    await starting;
    await service.until(() => service.asked.some(({ path }) => path === "/api/runs/run_1/cancel"));
    assert.deepEqual(
      shown.all.filter(({ kind }) => kind !== "progress"),
      [],
    );
    assert(!logged.some((line) => line.includes("no run was made")), logged.join());
    while (!logged.some((line) => line.includes("run_1 had started when its wait was stopped"))) await turn();
  });

  it("has the window's end wait until a run is cancelled that was granted while it closed", async () => {
    const closing = new AbortController();
    await using service = await LoopbackService.listen(async (asked, response) => {
      if (asked.path.endsWith("/cancel")) {
        sendJson(response, 200, { "run-id": "run_1", status: "cancelling" });
        return;
      }
      closing.abort(new Error("the extension has ended"));
      await turn();
      sendJson(response, 201, runOnWire());
    });
    const shutdown = new Shutdown();
    const { deps } = depsOf([], { shutdown, signal: closing.signal });
    const starting = startPipeline(wish, { ...deps, ...by(service.client(systemClock)) });
    const ended = assert.rejects(starting, /the extension has ended/);
    await shutdown.finish(systemClock);
    assert.equal(service.asked.at(-1)?.path, "/api/runs/run_1/cancel");
    await ended;
  });

  it("says so when nobody can tell whether a run was started", async () => {
    const given = Promise.withResolvers<void>();
    let isAway = false;
    await using service = await LoopbackService.listen((asked, response) => {
      if (isAway || asked.headers["prefer"] !== undefined) {
        given.resolve();
        isAway = true;
        response.destroy();
      } else sendJson(response, 429, taken);
    });
    const { deps, texts, waits, shown, logged } = depsOf([]);
    const starting = startPipeline(wish, { ...deps, ...by(service.client(systemClock)) });
    await given.promise;
    await shown.atLeast(1);
    waits.stop(wish);
    await starting;
    assert.match(texts("warning")[0] ?? "", /^It is unknown whether a run of nightly was started/);
    assert(logged.some((line) => line.includes("whether a run was made is not known")));
  });

  it("finds this machine's own service where it is after a restart, with the same wish", async () => {
    await using after = await LoopbackService.listen((asked, response) => {
      const end = { status: "succeeded", "stopped-at": "2026-03-03T10:00:02Z" };
      if (asked.method === "POST") sendJson(response, 201, runOnWire());
      else if (asked.path === "/api/runs/run_1") sendJson(response, 200, runOnWire(end));
      else response.writeHead(404).end();
    });
    await using before = await LoopbackService.listen((_, response) => void response.destroy());
    const services = [before, after];
    const connect = async () => (services.shift() ?? after).client(systemClock);
    const { deps, shown } = depsOf([]);
    await startPipeline(wish, { ...deps, session: idleSession(connect) });
    await shown.atLeast(1);
    const keys = [before, after].map(({ asked }) => asked[0]?.headers["idempotency-key"]);
    assert.equal(keys[0], keys[1]);
    assert.deepEqual(shown.all.at(-1)?.kind, "status");
  });

  it("never takes a start to another service because the settings have changed meanwhile", async () => {
    await using other = await LoopbackService.listen((_, response) => sendJson(response, 201, runOnWire()));
    let hasChanged = false;
    await using first = await LoopbackService.listen((_, response) => {
      hasChanged = true;
      response.destroy();
    });
    const clock = new FakeClock();
    const counted = new CountedFetch();
    const connect = async () => (hasChanged ? other : first).client(clock, { fetch: counted.fetch });
    const { deps } = depsOf([], {
      target: () => (hasChanged ? { kind: "remote", baseUrl: new URL(other.origin) } : { kind: "embedded" }),
    });
    const starting = startPipeline(wish, { ...deps, session: idleSession(connect) });
    await assert.rejects(drive(starting, clock, first, counted), { type: "out-of-reach" });
    assert.deepEqual(other.asked, []);
  });
});
