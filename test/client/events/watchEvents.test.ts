import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { type StreamState, watchEvents } from "../../../src/client/events/watchEvents.ts";
import type { ServiceEvent } from "../../../src/contract/event.ts";
import { EventService } from "../eventService.ts";
import { FakeClock } from "../fakeClock.ts";
import {
  type Answer,
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
  readonly states = new Told<StreamState>();
  readonly done: Promise<void>;
  readonly #stop = new AbortController();

  constructor(service: LoopbackService, random: () => number = () => 0.5) {
    const client = service.client(this.clock, { random });
    this.done = watchEvents(client, this.events.tell, this.states.tell, this.#stop.signal);
  }

  get kinds(): string[] {
    return this.states.all.map(({ kind }) => kind);
  }

  stop(): Promise<void> {
    this.#stop.abort(new Error("the test is over"));
    return this.done;
  }

  /** Lets the pause before the next stream pass, once the watch is in it. @returns its milliseconds. */
  async passPause(): Promise<number> {
    while (this.clock.sleeping !== 1) await turn();
    const before = this.clock.monotonic();
    this.clock.advanceToNext();
    return this.clock.monotonic() - before;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    assert.equal(this.clock.sleeping, 0, "no timer is left");
  }
}

async function refusing(answer: Answer): Promise<{ service: LoopbackService; watch: Watch }> {
  const service = await LoopbackService.listen(answer);
  return { service, watch: new Watch(service) };
}

describe("watching the events of an org", () => {
  it("tells that it is connected, and then each event", async () => {
    await using events = await EventService.listen();
    await using watch = new Watch(events.service);
    await watch.states.atLeast(1);
    events.send("org", orgOnWire);
    events.send("weather", "rain");
    events.send("run", runOnWire());
    const told = await watch.events.atLeast(2);
    assert.deepEqual(watch.kinds, ["connected"]);
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

  it("opens a broken stream again after the last event that came", async () => {
    await using events = await EventService.listen();
    await using watch = new Watch(events.service);
    await events.opened(1);
    events.send("org", orgOnWire, "41");
    events.send("org", orgOnWire, "42");
    events.send("org", orgOnWire);
    await watch.events.atLeast(3);
    events.streams[0]?.destroy();
    await watch.states.atLeast(2);
    await watch.passPause();
    await watch.states.atLeast(3);
    assert.deepEqual(watch.kinds, ["connected", "broken", "connected"]);
    assert.equal(events.service.asked[1]?.headers["last-event-id"], "42");
    events.send("run", runOnWire());
    await watch.events.atLeast(4);
  });

  it("counts a stream as broken that the service ends", async () => {
    await using events = await EventService.listen();
    await using watch = new Watch(events.service);
    await events.opened(1);
    events.streams[0]?.end();
    const [, state] = await watch.states.atLeast(2);
    assert.equal(state?.kind === "broken" && state.error.type, "out-of-reach");
  });

  it("counts a stream as broken that is silent for 45 s, but not one with comments", async () => {
    await using events = await EventService.listen();
    await using watch = new Watch(events.service);
    await watch.states.atLeast(1);
    for (let count = 1; count <= 4; count++) {
      watch.clock.advance(44_000);
      events.write(": still here\n\n");
      events.send("org", orgOnWire);
      await watch.events.atLeast(count);
    }
    assert.deepEqual(watch.kinds, ["connected"]);
    watch.clock.advance(45_000);
    const [, state] = await watch.states.atLeast(2);
    assert.match(state?.kind === "broken" ? state.error.message : "", /did not answer within 45 s/);
    await events.service.until(() => events.service.left === 1);
  });

  it("comes back after pauses that grow, from 1 s to 30 s", async () => {
    const { service, watch } = await refusing((_, response) => sendError(response, 503, "internal"));
    await using _service = service;
    await using _watch = watch;
    const pauses: number[] = [];
    for (let count = 1; count <= 14; count++) {
      await watch.states.atLeast(count);
      pauses.push(await watch.passPause());
    }
    assert.deepEqual(
      pauses,
      pauses.toSorted((one, other) => one - other),
    );
    for (const pause of pauses) assert.ok(pause >= 1000 && pause <= 30_000);
    assert.ok((pauses.at(-1) ?? 0) >= 20_000);
    assert.deepEqual(new Set(watch.kinds), new Set(["broken"]));
  });

  it("says broken, and comes back, when an event or the whole answer breaks the contract", async () => {
    await using events = await EventService.listen();
    await using watch = new Watch(events.service);
    await events.opened(1);
    events.send("org", { ...orgOnWire, usage: {} });
    const [, state] = await watch.states.atLeast(2);
    assert.match(
      state?.kind === "broken" ? state.error.message : "",
      /^GET \/api\/events, event `org`: `usage\.runs-today` is missing/,
    );
    assert.equal(watch.events.all.length, 0);
    await watch.passPause();
    await events.opened(2);
    const { service, watch: other } = await refusing((_, response) => void response.end("<html>"));
    await using _service = service;
    await using _other = other;
    const [first] = await other.states.atLeast(1);
    assert.match(first?.kind === "broken" ? first.error.message : "", /the answer is not a stream of events/);
  });

  it("ends with absent where the service has no events", async () => {
    const { service, watch } = await refusing((_, response) => void response.writeHead(404).end());
    await using _ = service;
    await watch.done;
    assert.deepEqual(watch.kinds, ["absent"]);
    assert.equal(service.asked.length, 1);
    assert.equal(watch.clock.sleeping, 0);
  });

  it("ends when the key is not accepted", async () => {
    for (const [status, type] of [
      [401, "unauthorized"],
      [403, "forbidden"],
    ] as const) {
      const { service, watch } = await refusing((_, response) => sendError(response, status, type));
      await using _ = service;
      await watch.done;
      const [state] = watch.states.all;
      assert.equal(state?.kind === "broken" && state.error.type, type);
      assert.equal(service.asked.length, 1);
    }
  });

  it("closes its stream when it is stopped, and says nothing more", async () => {
    await using events = await EventService.listen();
    const watch = new Watch(events.service);
    await watch.states.atLeast(1);
    await watch.stop();
    await events.service.until(() => events.service.left === 1);
    assert.deepEqual(watch.kinds, ["connected"]);
    assert.equal(watch.clock.sleeping, 0);
  });

  it("stops in a pause too", async () => {
    await using events = await EventService.listen();
    const watch = new Watch(events.service);
    await watch.states.atLeast(1);
    events.streams[0]?.destroy();
    await watch.states.atLeast(2);
    await watch.stop();
    assert.equal(watch.clock.sleeping, 0);
  });

  it("passes on what its listener throws", async () => {
    await using events = await EventService.listen();
    const listener = (): void => {
      throw new RangeError("no such number on the screen");
    };
    const client = events.service.client(new FakeClock());
    const watched = watchEvents(client, listener, () => undefined, new AbortController().signal);
    const failed = assert.rejects(watched, RangeError);
    await events.opened(1);
    events.send("org", orgOnWire);
    await failed;
    await events.service.until(() => events.service.left === 1);
  });
});
