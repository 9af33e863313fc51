import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../../src/client/clock.ts";
import type { ServiceClient } from "../../../src/client/http/serviceClient.ts";
import { News } from "../../../src/extension/news.ts";
import { Observed } from "../../../src/extension/observed.ts";
import { RunAnnouncer } from "../../../src/extension/runAnnouncer.ts";
import type { SessionState } from "../../../src/extension/session.ts";
import { type StartPipelineDeps, startPipeline } from "../../../src/extension/start/startPipeline.ts";
import { Waits } from "../../../src/extension/waits.ts";
import { CountedFetch, drive } from "../../client/drive.ts";
import { FakeClock } from "../../client/fakeClock.ts";
import { LoopbackService, orgOnWire, runOnWire, sendJson, testKey } from "../../client/loopbackService.ts";
import { itOn } from "../../itOn.ts";
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
  const announcer = new RunAnnouncer({
    window,
    session: { runTold: new News(), state: new Observed<SessionState>({ kind: "idle" }) },
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
    target: () => ({ kind: "embedded" }),
    waits,
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
  return { deps, shown, texts, waits, executed, logged };
}

function idleSession(connect: () => Promise<ServiceClient>): StartPipelineDeps["session"] {
  return { connect, refresh: async () => {}, state: new Observed<SessionState>({ kind: "idle" }) };
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
      ["$(check) nightly succeeded in 2.0 s"],
    );
  });

  it("shows the wait only when there is one, and gives up the turn when it is cancelled", async () => {
    await using service = await LoopbackService.listen(async (asked, response, gone) => {
      if (asked.headers["prefer"] === undefined) sendJson(response, 429, taken);
      else await service.hold(systemClock, 120_000, gone);
    });
    const { deps, shown, waits } = depsOf(["Cancel"]);
    await startPipeline(wish, { ...deps, ...by(service.client(systemClock)) });
    assert.deepEqual(
      shown.all.map(({ text }) => text),
      ["Waiting for a place to run nightly: 120 s left"],
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
    assert.deepEqual(all[0]?.buttons, ["Retry", "Retry at 00:00 UTC"]);
    assert.match(all[2]?.text ?? "", /^nightly failed: a step failed/);
    const keys = service.asked
      .filter(({ method }) => method === "POST")
      .map(({ headers }) => headers["idempotency-key"]);
    assert.equal(new Set(keys).size, 3, "each Retry is a wish of its own");
  });

  itOn(
    "posix",
    "starts through the service's own tool where HTTP can't, and shows that tool's hints",
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
      assert.match(toast?.text ?? "", /in 4321 s/);
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

  it("cancels one's own runs from the refusal of a taken place", async () => {
    await using service = await LoopbackService.listen((_, response) => sendJson(response, 429, taken));
    const clock = new FakeClock();
    const counted = new CountedFetch();
    const { deps, shown, executed } = depsOf(["Cancel My Runs"]);
    const client = service.client(clock, { fetch: counted.fetch });
    await drive(startPipeline(wish, { ...deps, ...by(client) }), clock, service, counted);
    const refusal = shown.all.at(-1);
    assert.deepEqual(refusal?.buttons, ["Retry", "Cancel My Runs"]);
    assert.match(refusal?.text ?? "", /Scope org: .* in 120 s\..*Hint: pipeline runs cancel --mine/);
    assert.deepEqual(executed, [["pipelineRuns.cancelMine"]]);
  });
});
