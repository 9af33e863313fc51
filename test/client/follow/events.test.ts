import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { type ServiceEvent, watchEvents } from "../../../src/client/follow/events.ts";
import { OutOfReach } from "../../../src/client/service/reachFaults.ts";
import { AbsentEndpoint } from "../../../src/client/service/replyErrors.ts";

import { FakeClock } from "../../clock/fakeClock.ts";
import {
  type Answer,
  EventService,
  LoopbackService,
  orgOnWire,
  runOnWire,
  sendError,
  testKey,
} from "../loopbackService.ts";
import { Told } from "../told.ts";

class Watch implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly events = new Told<ServiceEvent>();
  readonly opened = new Told<void>();
  /** What ended it. */
  readonly end: Promise<unknown>;
  readonly #stop = new AbortController();

  constructor(service: LoopbackService) {
    const client = service.client(this.clock);
    this.end = watchEvents(client, this.opened.tell, this.events.tell, this.#stop.signal).catch(
      (error: unknown) => error,
    );
  }

  stop(): Promise<unknown> {
    this.#stop.abort(new Error("the test is over"));
    return this.end;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    assert.equal(this.clock.alarms, 0, "no timer is left");
  }
}

/** What ends the watching of a service that answers like that. */
async function endOf(answer: Answer): Promise<unknown> {
  await using service = await LoopbackService.listen(answer);
  await using watch = new Watch(service);
  return await watch.end;
}

describe("watching the events of an org", () => {
  it("tells that the stream has opened, and then each event", async () => {
    await using events = await EventService.listen();
    await using watch = new Watch(events.service);
    await watch.opened.atLeast(1);
    events.send("org", orgOnWire);
    events.send("weather", "rain");
    events.send("run", runOnWire());
    const told = await watch.events.atLeast(2);
    assert.deepEqual(
      told.map((event) => (event.kind === "org" ? event.org.usage.runsToday : event.run.runId)),
      [7, "run_1"],
    );
    const [asked] = events.service.asked;
    assert.equal(asked?.headers["accept"], "text/event-stream");
    assert.equal(asked.headers["x-api-key"], testKey);
    assert.equal(asked.headers["last-event-id"], undefined);
  });

  it("reads an event that comes in pieces, even in the middle of a letter", async () => {
    await using events = await EventService.listen();
    await using watch = new Watch(events.service);
    await events.opened(1);
    const bytes = Buffer.from(
      `event: run\ndata: ${JSON.stringify(runOnWire({ pipeline: "nächtlich" }))}\n\n`,
    );
    const middle = bytes.indexOf(Buffer.from("ä")) + 1;
    events.streams[0]?.write(bytes.subarray(0, middle));
    await turn();
    events.streams[0]?.write(bytes.subarray(middle));
    const [event] = await watch.events.atLeast(1);
    assert.equal(event?.kind === "run" && event.run.pipeline, "nächtlich");
  });

  it("tells no control characters and not the key", async () => {
    await using events = await EventService.listen();
    await using watch = new Watch(events.service);
    await events.opened(1);
    events.send("run", runOnWire({ pipeline: "night\u001b[2Jly", reason: `a\u0007\nb ${testKey}` }));
    const [event] = await watch.events.atLeast(1);
    assert.ok(event?.kind === "run");
    assert.equal(event.run.pipeline, "night[2Jly");
    assert.equal(event.run.reason, "a\nb (the API key)");
  });

  it("ends with a stream that breaks, or that the service ends", async () => {
    for (const end of ["destroy", "end"] as const) {
      await using events = await EventService.listen();
      await using watch = new Watch(events.service);
      await events.opened(1);
      events.streams[0]?.[end]();
      assert.ok((await watch.end) instanceof OutOfReach);
    }
  });

  it("ends with a stream that is silent for 45 s, but not with one that has comments", async () => {
    await using events = await EventService.listen();
    await using watch = new Watch(events.service);
    await watch.opened.atLeast(1);
    for (let count = 1; count <= 4; count++) {
      watch.clock.advance(44_000);
      events.write(": still here\n\n");
      events.send("org", orgOnWire);
      await watch.events.atLeast(count);
    }
    watch.clock.advance(45_000);
    assert.match(String(await watch.end), /did not answer within 45 s/);
    await events.service.until(() => events.service.left === 1);
  });

  it("ends with an event or a whole answer that breaks the contract", async () => {
    await using events = await EventService.listen();
    await using watch = new Watch(events.service);
    await events.opened(1);
    events.send("org", { ...orgOnWire, usage: {} });
    assert.match(String(await watch.end), /GET \/api\/events, event `org`: `usage\.runs-today` is missing/);
    assert.equal(watch.events.all.length, 0);
    assert.match(String(await endOf((_, response) => void response.end("<html>"))), /not a stream of events/);
  });

  it("knows an endpoint that isn't there, whatever the answer says besides", async () => {
    for (const status of [404, 405, 410, 501]) {
      const bare = await endOf((_, response) => void response.writeHead(status).end());
      const told = await endOf((_, response) => sendError(response, status, "not-found"));
      assert.ok(bare instanceof AbsentEndpoint, String(bare));
      assert.ok(told instanceof AbsentEndpoint, String(told));
    }
  });

  it("closes its stream when it is stopped", async () => {
    await using events = await EventService.listen();
    const watch = new Watch(events.service);
    await watch.opened.atLeast(1);
    await watch.stop();
    await events.service.until(() => events.service.left === 1);
    assert.equal(watch.clock.alarms, 0);
  });

  it("passes on what its listener throws", async () => {
    await using events = await EventService.listen();
    const listener = (): void => {
      throw new RangeError("no such number on the screen");
    };
    const client = events.service.client(new FakeClock());
    const watched = watchEvents(client, () => undefined, listener, new AbortController().signal);
    const failed = assert.rejects(watched, RangeError);
    await events.opened(1);
    events.send("org", orgOnWire);
    await failed;
    await events.service.until(() => events.service.left === 1);
  });
});
