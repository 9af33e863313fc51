import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import type { Fetch } from "../../../src/client/service/request.ts";
import { RunList } from "../../../src/extension/session/runList.ts";
import { Session, type SessionDeps } from "../../../src/extension/session/session.ts";
import { ObservableValue } from "../../../src/extension/window/observable.ts";
import { LoopbackService, orgOnWire, sendJson, testKey } from "../../client/loopbackService.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { startedService } from "../../service/startedService.ts";

const hour = 3600;

/** A window that follows what `deps` say, which nobody looks at unless they say so. */
function windowWith(deps: Pick<SessionDeps, "clock"> & Partial<SessionDeps>) {
  const session = new Session({
    target: () => ({ kind: "embedded" }),
    keys: { keyFor: async () => undefined },
    embedded: () => Promise.reject(new Error("no embedded service is wanted here")),
    log: { info: () => {}, warn: () => {} },
    isFocused: new ObservableValue(false),
    random: () => 0.5,
    ...deps,
  });
  return Object.assign(session, { [Symbol.dispose]: () => session.dispose() });
}

/** A service with only the given endpoints, and a window that nobody looks at before a test says so. */
async function polled({ status = 200, events = 404 } = {}) {
  const clock = new FakeClock();
  const activity = new Activity(clock);
  let used = 7;
  let answered = status;
  let ahead = 0;
  let headers: Record<string, string> = {};
  let listsRuns = false;
  const service = await LoopbackService.listen((asked, response) => {
    if (listsRuns && asked.path.startsWith("/api/runs")) return sendJson(response, 200, { runs: [] });
    if (asked.path !== "/api/org") return void response.writeHead(events).end();
    const date = new Date(clock.now() + ahead).toUTCString();
    sendJson(response, answered, { ...orgOnWire, usage: { "runs-today": used } }, { date, ...headers });
  });
  const baseUrl = new URL(`${service.origin}/`);
  const isFocused = new ObservableValue(false);
  const session = windowWith({
    clock,
    isFocused,
    fetch: activity.fetch,
    target: () => ({ kind: "remote", baseUrl }),
    keys: { keyFor: async () => ({ key: testKey }) },
  });
  const asks = () => service.asked.filter(({ path }) => path === "/api/org").length;
  return {
    clock,
    activity,
    isFocused,
    session,
    asked: () => service.asked.length,
    asks,
    events: () => service.asked.filter(({ path }) => path === "/api/events").length,
    listRuns: () => {
      listsRuns = true;
    },
    use: (runs: number) => {
      used = runs;
    },
    setAhead: (milliseconds: number) => {
      ahead = milliseconds;
    },
    answer: (now: number, with_: Record<string, string> = {}) => {
      answered = now;
      headers = with_;
    },
    async [Symbol.asyncDispose]() {
      session.dispose();
      await service[Symbol.asyncDispose]();
    },
  };
}

const shownBy = ({ state: { value } }: Session) =>
  value.kind === "live" ? value.org.usage.runsToday : value.kind;

describe("an hour of a window that nobody looks at", () => {
  it("costs this machine's own service no request: its events alone keep the numbers live", async () => {
    const clock = new FakeClock();
    const activity = new Activity(clock);
    await using service = await startedService({ clock });
    const { secret } = await service.key();
    using window = windowWith({
      clock,
      fetch: activity.fetch,
      embedded: async () => ({ baseUrl: new URL(`${service.url}/`), apiKey: secret }),
    });
    window.watch();
    while (window.state.value.kind !== "live") await activity.settled();
    const before = activity.requests;
    await activity.pass(hour);
    console.log(
      `      embedded service: ${before} requests at the start, ${activity.requests - before} in the idle hour`,
    );
    assert.equal(before, 3);
    assert.equal(activity.requests - before, 0);
    assert.equal(shownBy(window), 0);
  });

  it("shows the new day's numbers of this machine's own service as it tells them, unasked", async () => {
    const clock = new FakeClock();
    clock.set("2026-03-03T23:50:00Z");
    const activity = new Activity(clock);
    await using service = await startedService({ clock });
    const { secret } = await service.key();
    using window = windowWith({
      clock,
      fetch: activity.fetch,
      embedded: async () => ({ baseUrl: new URL(`${service.url}/`), apiKey: secret }),
    });
    window.watch();
    while (window.state.value.kind !== "live") await activity.settled();
    await activity.pass(660);
    while (window.reading.value === undefined) await activity.settled();
    assert.equal(activity.requests, 3);
    assert.equal(new Date(window.reading.value.servedAt).toISOString().slice(0, 10), "2026-03-04");
  });

  it("costs a service without events nothing, and shows of when its number is", async () => {
    await using scene = await polled();
    const { session } = scene;
    session.watch();
    await scene.activity.pass(1);
    const [before, at] = [scene.asked(), session.reading.value?.at];
    await scene.activity.pass(hour);
    console.log(
      `      polled service: ${before} requests at the start, ${scene.asked() - before} in the idle hour`,
    );
    assert.equal(before, 2);
    assert.equal(scene.asked() - before, 0);
    assert.equal(shownBy(session), 7);
    assert.deepEqual([session.reading.value?.how, session.reading.value?.at], ["asked", at]);
  });

  it("costs it nothing with an open view of the runs either, which is read again when somebody comes back", async () => {
    await using scene = await polled();
    scene.listRuns();
    const { session } = scene;
    const list = new RunList({ session, log: { warn: () => {} } });
    using _list = { [Symbol.dispose]: () => list.dispose() };
    list.retain();
    session.watch();
    await scene.activity.pass(5);
    assert.equal(list.state.value.kind, "listed");
    const [before, asks] = [scene.asked(), scene.asks()];
    await scene.activity.pass(hour);
    assert.equal(scene.asked(), before);
    scene.isFocused.set(true);
    await scene.activity.pass(5);
    assert.deepEqual([scene.asks() - asks, scene.asked() - before], [1, 2]);
  });

  it("costs a service that is out of reach from the start a question every few minutes, and none before it wants one", async () => {
    await using scene = await polled({ status: 503 });
    const { session } = scene;
    session.watch();
    await scene.activity.pass(60);
    const before = scene.asked();
    await scene.activity.pass(hour);
    const whole = scene.asked() - before;
    console.log(`      service that is down: ${whole} requests in the idle hour`);
    assert(whole <= 20, String(whole));
    assert.equal(shownBy(session), "out-of-reach");
    scene.answer(503, { "retry-after": "7200" });
    await scene.activity.pass(300);
    const asked = scene.asks();
    await scene.activity.pass(hour);
    assert.equal(scene.asks(), asked);
  });

  it("costs a service without events nothing once it is out of reach, until somebody looks", async () => {
    await using scene = await polled();
    const { session, isFocused } = scene;
    isFocused.set(true);
    session.watch();
    await scene.activity.pass(10);
    scene.answer(503);
    await scene.activity.pass(31);
    assert.equal(shownBy(session), "out-of-reach");
    isFocused.set(false);
    await scene.activity.pass(60);
    const asked = scene.asked();
    await scene.activity.pass(hour);
    assert.equal(scene.asked(), asked);
    scene.answer(200);
    isFocused.set(true);
    await scene.activity.settled();
    assert.equal(shownBy(session), 7);
  });
});

describe("a window that somebody looks at", () => {
  it("asks a service without events every 30 s", async () => {
    await using scene = await polled();
    scene.isFocused.set(true);
    scene.session.watch();
    await scene.activity.pass(1);
    const before = scene.asked();
    await scene.activity.pass(600);
    assert.equal(scene.asked() - before, 20);
  });

  it("asks it at once when it is come back to, unless it was just asked", async () => {
    await using scene = await polled();
    const { session, isFocused } = scene;
    session.watch();
    await scene.activity.pass(100);
    assert.equal(scene.asks(), 1);
    scene.use(8);
    isFocused.set(true);
    await scene.activity.settled();
    assert.equal(scene.asks(), 2);
    assert.equal(shownBy(session), 8);
    isFocused.set(false);
    isFocused.set(true);
    await scene.activity.settled();
    assert.equal(scene.asks(), 2);
    isFocused.set(false);
    await scene.activity.pass(3);
    isFocused.set(true);
    await scene.activity.settled();
    assert.equal(scene.asks(), 3);
  });

  it("tries a service that is out of reach at once when it is come back to, but not one that wants peace", async () => {
    await using scene = await polled({ status: 503 });
    const { session, isFocused } = scene;
    session.watch();
    await scene.activity.pass(1000);
    const asked = scene.asks();
    scene.answer(200);
    isFocused.set(true);
    await scene.activity.settled();
    assert.equal(scene.asks(), asked + 1);
    assert.equal(shownBy(session), 7);
    scene.answer(503, { "retry-after": "600" });
    await scene.activity.pass(31);
    assert.equal(shownBy(session), "out-of-reach");
    const refused = scene.asks();
    scene.answer(200);
    isFocused.set(false);
    isFocused.set(true);
    await scene.activity.pass(590);
    assert.equal(scene.asks(), refused);
    await scene.activity.pass(15);
    assert.equal(shownBy(session), 7);
  });
});

describe("a service whose events fail", () => {
  it("is asked for them every five minutes, also while nobody looks", async () => {
    await using scene = await polled({ events: 500 });
    const { session } = scene;
    session.watch();
    await scene.activity.pass(1);
    assert.equal(shownBy(session), 7);
    const before = scene.events();
    await scene.activity.pass(hour);
    const asked = scene.events() - before;
    assert(asked >= 10 && asked <= 12, String(asked));
    assert.equal(shownBy(session), 7);
  });
});

describe("the numbers of a service without events", () => {
  it("are not today's from 00:00 UTC by the service's clock until it was asked, which is within seconds", async () => {
    await using scene = await polled();
    // This machine's clock is hours off: only the service's `Date` tells the day.
    const { clock, session, isFocused, activity } = scene;
    clock.set("2026-03-03T18:59:10Z");
    scene.setAhead(5 * hour * 1000);
    isFocused.set(true);
    session.watch();
    await activity.pass(48);
    scene.use(0);
    const asked = scene.asks();
    assert.equal(session.reading.value?.how, "asked");
    let unknown = 0;
    for (let second = 0; second < 4; second++) {
      await activity.pass(1);
      if (session.reading.value === undefined) unknown += 1;
      else if (clock.now() >= Date.parse("2026-03-03T19:00:01Z")) assert.equal(shownBy(session), 0);
    }
    await activity.pass(20);
    assert(unknown > 0);
    assert.equal(scene.asks() - asked, 1);
    assert.equal(shownBy(session), 0);
  });

  it("are not today's any more where nobody looks either, and are asked for once somebody does", async () => {
    await using scene = await polled();
    const { clock, session, isFocused, activity } = scene;
    clock.set("2026-03-03T23:59:00Z");
    session.watch();
    await activity.pass(hour);
    assert.equal(session.reading.value, undefined);
    assert.equal(scene.asks(), 1);
    scene.use(0);
    isFocused.set(true);
    await activity.settled();
    assert.equal(shownBy(session), 0);
    assert(session.reading.value !== undefined);
  });

  it("are asked for every 10 s at the most of one whose clock stands still right before 00:00 UTC", async () => {
    await using scene = await polled();
    const { session, isFocused, activity } = scene;
    scene.answer(200, { date: "Tue, 03 Mar 2026 23:59:59 GMT" });
    isFocused.set(true);
    session.watch();
    await activity.pass(60);
    assert(scene.asks() <= 7, `asked ${scene.asks()} times`);
    assert.equal(shownBy(session), 7);
  });

  it("are asked for again after the machine has slept, and not shown meanwhile", async () => {
    await using scene = await polled();
    const { session, isFocused, activity, clock } = scene;
    isFocused.set(true);
    session.watch();
    await activity.pass(10);
    const seen: (string | number)[] = [];
    const following = session.state.observe(() => seen.push(shownBy(session)));
    scene.use(30);
    // The wall clock goes on while timers stand still.
    clock.set(clock.now() + 2 * hour * 1000);
    await activity.pass(21);
    following.dispose();
    assert.equal(shownBy(session), 30);
    assert.deepEqual(seen.slice(1), ["connecting", 30]);
  });
});

/** Knows what windows are about to do, so that a test's clock goes on only when they do nothing but sleep. */
class Activity {
  /** Requests that were sent; a stream counts once. */
  requests = 0;
  #busy = 0;
  #streams = 0;
  #lastHeard = 0;
  readonly #clock: FakeClock;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  readonly fetch: Fetch = async (url, request) => {
    this.requests += 1;
    const response = await this.#during(() => fetch(url, request));
    const { body, status, headers } = response;
    const isStream = headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    if (body === null) return { status, headers, body };
    return { status, headers, body: isStream ? this.#heard(body) : this.#read(body) };
  };

  /** Lets so many seconds pass, one after the other, each as soon as nobody does anything any more. */
  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      await this.settled();
      this.#clock.advance(1000);
    }
    await this.settled();
  }

  async settled(): Promise<void> {
    for (let quiet = 0; quiet < 5; quiet++) {
      await turn();
      // A stream is silent for 15 s at most, unless what was written is still on its way.
      const isLate = this.#streams > 0 && this.#clock.monotonic() - this.#lastHeard >= 30_000;
      if (this.#busy > 0 || isLate) quiet = -1;
    }
  }

  async #during<T>(work: () => Promise<T>): Promise<T> {
    this.#busy += 1;
    try {
      return await work();
    } finally {
      this.#busy -= 1;
    }
  }

  async *#read(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    this.#busy += 1;
    try {
      yield* body;
    } finally {
      this.#busy -= 1;
    }
  }

  async *#heard(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    this.#streams += 1;
    this.#lastHeard = this.#clock.monotonic();
    try {
      for await (const chunk of body) {
        this.#lastHeard = this.#clock.monotonic();
        yield chunk;
      }
    } finally {
      this.#streams -= 1;
    }
  }
}
