import assert from "node:assert/strict";
import { openLogs } from "../../../src/extension/log/openLogs.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { LoopbackService, orgOnWire, runOnWire, sendJson } from "../../client/loopbackService.ts";
import { FakeClock } from "../../clock/fakeClock.ts";

/** A service with one stopped run and its log. */
function withLogs(): Promise<LoopbackService> {
  return LoopbackService.listen((asked, response) => {
    if (asked.path === "/api/org") return sendJson(response, 200, orgOnWire);
    const stopped = { status: "succeeded", "stopped-at": "2026-03-03T10:00:05Z" };
    if (!asked.path.includes("/log")) return sendJson(response, 200, runOnWire(stopped));
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end('event: end\ndata: {"run-id":"run_1","status":"succeeded"}\n\n');
    return undefined;
  });
}

function opened(service: LoopbackService) {
  const clock = new FakeClock();
  const shown = new Set<string>();
  const logs = openLogs({
    connect: async () => service.client(systemClock),
    origin: () => "http://service.test",
    clock,
    timeText: (instant) => instant,
    resumeAt: async () => undefined,
    onChange: () => {},
    isShown: (runId) => shown.has(runId),
  });
  return { logs, clock, shown, [Symbol.dispose]: () => logs.dispose() };
}

describe("the logs that documents show", () => {
  it("are read once, however often they are asked for, and no longer than a document shows them", async () => {
    await using service = await withLogs();
    using desktop = opened(service);
    const { logs, clock, shown } = desktop;
    const log = logs.of("run_1");
    assert.equal(logs.of("run_1"), log);
    await log.ready;
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
    using desktop = opened(service);
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
    using desktop = opened(service);
    await desktop.logs.of("run_1").ready;
    desktop.clock.advance(60_000);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(desktop.logs.size, 0);
  });
});
