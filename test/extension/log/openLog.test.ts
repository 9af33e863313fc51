import assert from "node:assert/strict";
import type { ServiceClient } from "../../../src/client/service/client.ts";
import type { Run } from "../../../src/contract/run.ts";
import { OpenLogs, openLog } from "../../../src/extension/log/openLogs.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { LoopbackService, orgOnWire, runOnWire, sendError, sendJson } from "../../client/loopbackService.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { pickingWindow } from "../fakePick.ts";

const never = new AbortController().signal;

/** A service with one stopped run, and the window of somebody who picks and types what the test says. */
async function desk(service: LoopbackService, person: { readonly picks?: RegExp } = {}) {
  const clock = new FakeClock();
  const connect = async (): Promise<ServiceClient> => service.client(systemClock);
  const shown = new Set<string>();
  const logs = new OpenLogs({
    connect,
    isOwn: () => false,
    origin: () => "http://service.test",
    clock,
    timeText: (instant) => instant,
    goOnAt: async () => undefined,
    onChange: () => {},
    isShown: (runId) => shown.has(runId),
  });
  const said: string[] = [];
  const { shown: offered, showQuickPick } = pickingWindow(person.picks);
  const window = {
    showInformationMessage: async (text: string) => {
      said.push(text);
      return undefined;
    },
    showQuickPick,
  };
  const opened: string[] = [];
  return {
    logs,
    clock,
    shown,
    said,
    opened,
    offered: () => offered.at(-1) ?? [],
    open: (wanted: unknown) =>
      openLog(wanted, {
        session: { connect },
        runs: { find: () => undefined },
        logs,
        // The editor's functions have more forms than are used here.
        window: window as never,
        signal: never,
        show: async (run: Run) => {
          opened.push(run.runId);
        },
      }),
    [Symbol.dispose]: () => logs.dispose(),
  };
}

const stopped = { status: "succeeded", "stopped-at": "2026-03-03T10:00:05Z" };

function withLogs(): Promise<LoopbackService> {
  return LoopbackService.listen((asked, response) => {
    if (asked.path === "/api/org") return sendJson(response, 200, orgOnWire);
    if (asked.path.startsWith("/api/runs?")) {
      const runs = [runOnWire(stopped), runOnWire({ "run-id": "run_0", pipeline: "hello", ...stopped })];
      return sendJson(response, 200, { runs });
    }
    if (!asked.path.includes("/log")) return sendJson(response, 200, runOnWire(stopped));
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end('event: end\ndata: {"run-id":"run_1","status":"succeeded"}\n\n');
    return undefined;
  });
}

describe("Open Run Log", () => {
  it("opens the log of the run that it is given, as an id or as what has one", async () => {
    await using service = await withLogs();
    for (const wanted of ["run_1", { runId: "run_1" }]) {
      using desktop = await desk(service);
      await desktop.open(wanted);
      assert.deepEqual(desktop.opened, ["run_1"]);
      assert.deepEqual(desktop.offered(), []);
    }
  });

  it("offers the newest runs where it is given none", async () => {
    await using service = await withLogs();
    using desktop = await desk(service, { picks: /nightly/ });
    await desktop.open(undefined);
    assert.deepEqual(desktop.opened, ["run_1"]);
    assert.deepEqual(
      desktop.offered().map(({ label }) => label),
      ["nightly", "hello"],
    );
    using other = await desk(service);
    await other.open(undefined);
    assert.deepEqual(other.opened, []);
    await assert.rejects(other.open({ something: "else" }), { type: "usage" });
    assert.equal(other.offered().length, 2);
  });

  it("says in a sentence that a service gives no logs, and opens nothing", async () => {
    await using service = await LoopbackService.listen((asked, response) => {
      if (asked.path === "/api/org") return sendJson(response, 200, orgOnWire);
      if (asked.path === "/api/runs/run_1") return sendJson(response, 200, runOnWire(stopped));
      response.writeHead(404).end();
      return undefined;
    });
    using desktop = await desk(service);
    await desktop.open("run_1");
    assert.deepEqual(desktop.said, [`127.0.0.1:${service.port} does not give the logs of its runs.`]);
    assert.deepEqual(desktop.opened, []);
    assert.equal(desktop.logs.size, 0);
  });

  it("tells what else stands in the way, and tries anew the next time", async () => {
    let isThere = false;
    await using service = await LoopbackService.listen((asked, response) => {
      if (asked.path === "/api/org") return sendJson(response, 200, orgOnWire);
      if (!isThere) return sendError(response, 404, "not-found", "There is no such run.");
      if (!asked.path.includes("/log")) return sendJson(response, 200, runOnWire(stopped));
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end('event: end\ndata: {"run-id":"run_1","status":"succeeded"}\n\n');
      return undefined;
    });
    using desktop = await desk(service);
    await assert.rejects(desktop.open("run_1"), { type: "not-found" });
    isThere = true;
    await desktop.open("run_1");
    assert.deepEqual(desktop.opened, ["run_1"]);
  });
});

describe("the logs that documents show", () => {
  it("are read once, however often they are asked for, and no longer than a document shows them", async () => {
    await using service = await withLogs();
    using desktop = await desk(service);
    const { logs, clock, shown } = desktop;
    const log = logs.of("run_1");
    assert.equal(logs.of("run_1"), log);
    await log.opened;
    shown.add("run_1");
    clock.advance(60_000);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(logs.find("run_1"), log);
    shown.delete("run_1");
    logs.closed("run_1");
    clock.advance(60_000);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(logs.size, 0);
    assert.equal(clock.alarms, 0);
  });

  it("go on when a document is closed and opened in one go, as by a change of its language", async () => {
    await using service = await withLogs();
    using desktop = await desk(service);
    const { logs, clock, shown } = desktop;
    const log = logs.of("run_1");
    logs.closed("run_1");
    shown.add("run_1");
    clock.advance(60_000);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(logs.find("run_1"), log);
  });

  it("are given up when no document comes to show them", async () => {
    await using service = await withLogs();
    using desktop = await desk(service);
    await desktop.logs.of("run_1").opened;
    desktop.clock.advance(60_000);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(desktop.logs.size, 0);
  });
});
