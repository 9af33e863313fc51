import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { followRun, isUnseen } from "../../../src/client/follow/followRun.ts";
import type { Run } from "../../../src/contract/run.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { CountedFetch, drive } from "../drive.ts";
import {
  EventService,
  LoopbackService,
  orgOnWire,
  runOnWire,
  sendError,
  sendJson,
} from "../loopbackService.ts";
import { Told } from "../told.ts";

const never = new AbortController().signal;
const steps = [{ name: "it answers", type: "http", status: "succeeded" }];
const stopped = { status: "succeeded", "stopped-at": "2026-03-03T10:00:09Z", steps };

describe("following a run", () => {
  it("tells its changes as they happen and returns it once it has stopped", async () => {
    const clock = new FakeClock();
    await using events = await EventService.listen((_, response) => sendJson(response, 200, runOnWire()));
    const told = new Told<Run>();
    const followed = followRun(events.service.client(clock), { runId: "run_1" }, told.tell, never);
    await told.atLeast(1);
    events.send("run", runOnWire({ "run-id": "run_2", ...stopped }));
    events.send("run", runOnWire());
    events.send("run", runOnWire({ status: "cancelling" }));
    events.send("run", runOnWire({ ...stopped, status: "cancelled" }));
    const run = await followed;
    assert.equal(run.status, "cancelled");
    assert.deepEqual(
      told.all.map(({ status }) => status),
      ["running", "cancelling", "cancelled"],
    );
    await events.service.until(() => events.service.left === 1);
    assert.equal(events.service.asked.filter(({ path }) => path === "/api/runs/run_1").length, 1);
    assert.equal(clock.alarms, 0);
  });

  it("misses no end that came before the stream was open", async () => {
    await using events = await EventService.listen((_, response) =>
      sendJson(response, 200, runOnWire(stopped)),
    );
    const run = await followRun(
      events.service.client(new FakeClock()),
      { runId: "run_1" },
      () => undefined,
      never,
    );
    assert.equal(run.status, "succeeded");
    assert.deepEqual(
      events.service.asked.map(({ path }) => path),
      ["/api/events", "/api/runs/run_1"],
    );
  });

  it("misses no end that came between the reading and the event", async () => {
    await using events = await EventService.listen((_, response) => {
      events.send("run", runOnWire(stopped));
      sendJson(response, 200, runOnWire());
    });
    const run = await followRun(
      events.service.client(new FakeClock()),
      { runId: "run_1" },
      () => undefined,
      never,
    );
    assert.equal(run.status, "succeeded");
  });

  it("returns the steps, where the event has none", async () => {
    const answers = [runOnWire(), runOnWire(stopped)];
    await using events = await EventService.listen((_, response) => sendJson(response, 200, answers.shift()));
    const told = new Told<Run>();
    const followed = followRun(events.service.client(new FakeClock()), { runId: "run_1" }, told.tell, never);
    await told.atLeast(1);
    events.send("run", runOnWire({ ...stopped, steps: undefined }));
    assert.equal((await followed).steps?.length, 1);
    assert.equal(told.all.at(-1)?.steps?.length, 1);
  });

  it("asks after pauses of 1 s to 5 s where the service has no events", async () => {
    const clock = new FakeClock();
    const counted = new CountedFetch();
    const askedAt: number[] = [];
    await using service = await LoopbackService.listen(({ path }, response) => {
      if (path === "/api/events") return void response.writeHead(404).end();
      askedAt.push(clock.monotonic());
      sendJson(response, 200, runOnWire(askedAt.length < 12 ? {} : stopped));
    });
    const client = service.client(clock, { fetch: counted.fetch });
    const told = new Told<Run>();
    const run = await drive(followRun(client, { runId: "run_1" }, told.tell, never), clock, service, counted);
    assert.equal(run.status, "succeeded");
    const pauses = askedAt.slice(1).map((at, index) => at - (askedAt[index] ?? 0));
    for (const pause of pauses) assert.ok(pause >= 1000 && pause <= 5000, `a pause of ${pause} ms`);
    assert.ok((pauses.at(-1) ?? 0) > 3000);
    assert.deepEqual(
      told.all.map(({ status }) => status),
      ["running", "succeeded"],
    );
    assert.equal(service.asked.filter(({ path }) => path === "/api/events").length, 1);
  });

  it("asks while the stream is broken, and goes back to it", async () => {
    const clock = new FakeClock();
    await using events = await EventService.listen((_, response) => sendJson(response, 200, runOnWire()));
    const followed = followRun(events.service.client(clock), { runId: "run_1" }, () => undefined, never);
    await events.opened(1);
    await events.service.until(() => events.service.asked.length === 2);
    events.streams[0]?.destroy();
    await events.service.until(() => events.service.asked.length === 3);
    for (; events.streams.length < 2; await turn()) if (clock.alarms === 1) clock.advance(1000);
    events.send("run", runOnWire(stopped));
    assert.equal((await followed).status, "succeeded");
  });

  it("only asks when the stream fails three times to open", async () => {
    const clock = new FakeClock();
    const counted = new CountedFetch();
    let reads = 0;
    await using service = await LoopbackService.listen(({ path }, response) => {
      if (path === "/api/events") return sendJson(response, 500, {});
      reads += 1;
      sendJson(response, 200, runOnWire(reads < 10 ? {} : stopped));
    });
    const client = service.client(clock, { fetch: counted.fetch });
    await drive(
      followRun(client, { runId: "run_1" }, () => undefined, never),
      clock,
      service,
      counted,
    );
    assert.equal(service.asked.filter(({ path }) => path === "/api/events").length, 3);
  });

  it("forgives a service that is away for a moment, and gives up on one that stays away", async () => {
    const clock = new FakeClock();
    const counted = new CountedFetch();
    for (const faults of [4, 5]) {
      let reads = 0;
      await using service = await LoopbackService.listen(({ path }, response) => {
        if (path === "/api/events") return void response.writeHead(404).end();
        reads += 1;
        if (reads > 1 && reads <= 1 + faults) return void response.destroy();
        sendJson(response, 200, runOnWire(reads === 1 ? {} : stopped));
      });
      const client = service.client(clock, { fetch: counted.fetch });
      const followed = drive(
        followRun(client, { runId: "run_1" }, () => undefined, never),
        clock,
        service,
        counted,
      );
      if (faults === 4) assert.equal((await followed).status, "succeeded");
      else await assert.rejects(followed, { type: "out-of-reach" });
    }
  });

  it("goes on where the service is after a break", async () => {
    for (const isEnding of [false, true]) {
      const clock = new FakeClock();
      const counted = new CountedFetch();
      await using other = await LoopbackService.listen(({ path }, response) => {
        if (path === "/api/events") return void response.writeHead(404).end();
        sendJson(response, 200, runOnWire(stopped));
      });
      let asked = 0;
      await using service = await LoopbackService.listen(({ path }, response) => {
        asked += 1;
        if (path === "/api/events" && asked === 1) return void response.writeHead(404).end();
        if (asked === 2) return sendJson(response, 200, runOnWire());
        if (isEnding) sendError(response, 500, "internal");
        else response.destroy();
      });
      const found = other.client(clock, { fetch: counted.fetch });
      const followed = followRun(
        service.client(clock, { fetch: counted.fetch }),
        { runId: "run_1" },
        () => undefined,
        never,
        async () => found,
      );
      assert.equal((await drive(followed, clock, service, counted)).status, "succeeded");
    }
  });

  it("takes a refused key for what it is when the service has not moved", async () => {
    const clock = new FakeClock();
    const counted = new CountedFetch();
    await using service = await LoopbackService.listen((_, response) =>
      sendError(response, 401, "unauthorized"),
    );
    const client = service.client(clock, { fetch: counted.fetch });
    const followed = followRun(
      client,
      { runId: "run_1" },
      () => undefined,
      never,
      async () => client,
    );
    await assert.rejects(drive(followed, clock, service, counted), { type: "unauthorized" });
  });

  for (const [what, answer] of [
    ["refused", (response) => sendError(response, 401, "unauthorized")],
    ["forbidden", (response) => sendError(response, 403, "forbidden")],
    ["broken", (response) => sendError(response, 500, "internal")],
    ["behind a proxy that can't reach it", (response) => void response.writeHead(503).end()],
    ["a web page", (response) => void response.writeHead(200, { "content-type": "text/html" }).end("<p>")],
  ] satisfies [string, (response: ServerResponse) => void][]) {
    it(`takes the runs for absent where they alone are ${what}, while the service is there`, async () => {
      const clock = new FakeClock();
      const counted = new CountedFetch();
      await using service = await LoopbackService.listen(({ path }, response) =>
        path === "/api/org" ? sendJson(response, 200, orgOnWire) : answer(response),
      );
      const client = service.client(clock, { fetch: counted.fetch });
      const followed = followRun(client, { runId: "run_1" }, () => undefined, never);
      await assert.rejects(drive(followed, clock, service, counted), isUnseen);
    });
  }

  it("says when there is no such run", async () => {
    await using events = await EventService.listen((_, response) =>
      sendError(response, 404, "not-found", "There is no run run_9."),
    );
    const followed = followRun(
      events.service.client(new FakeClock()),
      { runId: "run_9" },
      () => undefined,
      never,
    );
    await assert.rejects(followed, { type: "not-found", message: "There is no run run_9." });
  });

  it("closes its stream when it is stopped", async () => {
    const clock = new FakeClock();
    await using events = await EventService.listen((_, response) => sendJson(response, 200, runOnWire()));
    const told = new Told<Run>();
    const stop = new AbortController();
    const followed = followRun(events.service.client(clock), { runId: "run_1" }, told.tell, stop.signal);
    await told.atLeast(1);
    stop.abort(new Error("seen enough"));
    await assert.rejects(followed, /seen enough/);
    await events.service.until(() => events.service.left === 1);
    assert.equal(clock.alarms, 0);
  });

  it("passes on what its listener throws", async () => {
    await using events = await EventService.listen((_, response) => sendJson(response, 200, runOnWire()));
    const listener = (): void => {
      throw new RangeError("no such number on the screen");
    };
    const followed = followRun(events.service.client(new FakeClock()), { runId: "run_1" }, listener, never);
    await assert.rejects(followed, RangeError);
  });
});
