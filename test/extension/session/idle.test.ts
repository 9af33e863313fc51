import assert from "node:assert/strict";
import { readdir, utimes } from "node:fs/promises";
import { Observed } from "../../../src/extension/observed.ts";
import { RunList } from "../../../src/extension/runList.ts";
import { Session, type SessionDeps } from "../../../src/extension/session.ts";
import { NumbersFile } from "../../../src/extension/windows/sharedNumbers.ts";
import { FakeClock } from "../../client/fakeClock.ts";
import { LoopbackService, orgOnWire, sendJson, testKey } from "../../client/loopbackService.ts";
import { startedService } from "../../service/startedService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { Activity, serviceClockOf } from "./passTime.ts";

const hour = 3600;

/** Windows of one user and machine, unfocused unless a test says otherwise, that follow what `deps` say. */
function windows(count: number, deps: Pick<SessionDeps, "clock"> & Partial<SessionDeps>) {
  const opened = Array.from(
    { length: count },
    () =>
      new Session({
        target: () => ({ kind: "embedded" }),
        keys: { get: async () => undefined },
        embedded: () => Promise.reject(new Error("no embedded service is wanted here")),
        log: { info: () => {}, warn: () => {} },
        isFocused: new Observed(false),
        random: () => 0.5,
        ...deps,
      }),
  );
  return {
    opened,
    [Symbol.dispose]() {
      for (const session of opened) session.dispose();
    },
  };
}

/** A service with only the given endpoints, and windows that share what they learn of it. */
async function polled(count: number, others: Partial<SessionDeps> = {}, status = 200, events = 404) {
  const folder = await TemporaryFolder.make();
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
  const made = windows(count, {
    clock,
    fetch: activity.fetch,
    target: () => ({ kind: "remote", baseUrl }),
    keys: { get: async () => testKey },
    shared: (url, key) => activity.counted(new NumbersFile(folder.path, url, key)),
    ...others,
  });
  const asks = () => service.asked.filter(({ path }) => path === "/api/org").length;
  return {
    clock,
    activity,
    sessions: made.opened,
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
      made[Symbol.dispose]();
      await service[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const shownBy = (session: Session | undefined) =>
  session?.state.value.kind === "live" ? session.state.value.org.usage.runsToday : session?.state.value.kind;

describe("an hour of a window that nobody looks at", function () {
  this.timeout(120_000);

  it("costs this machine's own service no request: its events alone keep the numbers live", async () => {
    const clock = new FakeClock();
    const activity = new Activity(clock);
    await using service = await startedService({ clock: serviceClockOf(clock) });
    const { secret } = await service.key();
    using made = windows(1, {
      clock,
      fetch: activity.fetch,
      embedded: async () => ({ baseUrl: new URL(`${service.url}/`), apiKey: secret }),
    });
    const [window] = made.opened;
    window?.watch();
    while (window?.state.value.kind !== "live") await activity.settled();
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
    clock.wallStart = Date.parse("2026-03-03T23:50:00Z");
    const activity = new Activity(clock);
    await using service = await startedService({ clock: serviceClockOf(clock) });
    const { secret } = await service.key();
    using made = windows(1, {
      clock,
      fetch: activity.fetch,
      embedded: async () => ({ baseUrl: new URL(`${service.url}/`), apiKey: secret }),
    });
    const [window] = made.opened;
    window?.watch();
    while (window?.state.value.kind !== "live") await activity.settled();
    await activity.pass(660);
    while (window.reading.value === undefined) await activity.settled();
    assert.equal(activity.requests, 3);
    assert.equal(new Date(window.reading.value.servedAt).toISOString().slice(0, 10), "2026-03-04");
  });

  it("costs a service without events a question every five minutes", async () => {
    await using scene = await polled(1);
    const [window] = scene.sessions;
    window?.watch();
    await scene.activity.pass(1);
    const before = scene.asked();
    await scene.activity.pass(hour);
    console.log(
      `      polled service: ${before} requests at the start, ${scene.asked() - before} in the idle hour`,
    );
    assert.equal(before, 2);
    assert.equal(scene.asked() - before, 12);
    assert.equal(shownBy(window), 7);
  });

  it("costs it no more with three windows, which all show what one was told", async () => {
    await using scene = await polled(3);
    for (const window of scene.sessions) {
      window.watch();
      await scene.activity.pass(1);
    }
    const before = scene.asked();
    await scene.activity.pass(hour);
    scene.use(9);
    const whole = scene.asked() - before;
    console.log(
      `      polled service, three windows: ${before} requests at the start, ${whole} in the idle hour`,
    );
    assert.equal(before, 2);
    assert.equal(whole, 12);
    await scene.activity.pass(300 + 20);
    assert.deepEqual(scene.sessions.map(shownBy), [9, 9, 9]);
  });

  it("costs it no more where each has an open view of the runs, which is read again when it is come back to", async () => {
    const focus = [false, false, false].map((isFocused) => new Observed(isFocused));
    await using scene = await polled(3);
    scene.listRuns();
    const lists = scene.sessions.map(
      (session, at) =>
        new RunList({ session, log: { warn: () => {} }, isFocused: focus[at] ?? assert.fail() }),
    );
    using _lists = {
      [Symbol.dispose]: () => {
        for (const list of lists) list.dispose();
      },
    };
    for (const [at, window] of scene.sessions.entries()) {
      lists[at]?.want();
      window.watch();
      await scene.activity.pass(1);
    }
    await scene.activity.pass(5);
    assert.deepEqual(
      lists.map(({ state }) => state.value.kind),
      ["listed", "listed", "listed"],
    );
    const [before, org] = [scene.asked(), scene.asks()];
    await scene.activity.pass(hour);
    const [runs, asks] = [scene.asked() - before - (scene.asks() - org), scene.asks() - org];
    console.log(
      `      polled service, three open views of the runs: ${asks} + ${runs} requests in the idle hour`,
    );
    assert.deepEqual([asks, runs], [12, 0]);
    const unread = scene.asked() - scene.asks();
    focus[1]?.set(true);
    await scene.activity.pass(5);
    assert.equal(scene.asked() - scene.asks() - unread, 1);
  });

  it("costs a service that is out of reach a question every few minutes, and none before it wants one", async () => {
    await using scene = await polled(3, {}, 503);
    for (const window of scene.sessions) window.watch();
    await scene.activity.pass(60);
    const before = scene.asked();
    await scene.activity.pass(hour);
    const whole = scene.asked() - before;
    console.log(`      polled service that is down, three windows: ${whole} requests in the idle hour`);
    assert(whole <= 60, String(whole));
    assert.deepEqual(scene.sessions.map(shownBy), ["out-of-reach", "out-of-reach", "out-of-reach"]);
    scene.answer(503, { "retry-after": "7200" });
    await scene.activity.pass(300);
    const asked = scene.asks();
    await scene.activity.pass(hour);
    assert.equal(scene.asks(), asked);
  });
});

describe("a window that somebody looks at", () => {
  it("has a service without events asked every 30 s", async () => {
    await using scene = await polled(1, { isFocused: new Observed(true) });
    scene.sessions[0]?.watch();
    await scene.activity.pass(1);
    const before = scene.asked();
    await scene.activity.pass(600);
    assert.equal(scene.asked() - before, 20);
  });

  it("has it asked at once when it is come back to, unless it was just asked", async () => {
    const isFocused = new Observed(false);
    await using scene = await polled(1, { isFocused });
    scene.sessions[0]?.watch();
    await scene.activity.pass(100);
    assert.equal(scene.asks(), 1);
    scene.use(8);
    isFocused.set(true);
    await scene.activity.settled();
    assert.equal(scene.asks(), 2);
    assert.equal(shownBy(scene.sessions[0]), 8);
    isFocused.set(false);
    isFocused.set(true);
    await scene.activity.settled();
    assert.equal(scene.asks(), 2);
  });

  it("tries a service that is out of reach at once when it is come back to, but not one that wants peace", async () => {
    const isFocused = new Observed(false);
    await using scene = await polled(1, { isFocused }, 503);
    const [window] = scene.sessions;
    window?.watch();
    await scene.activity.pass(1000);
    const asked = scene.asks();
    scene.answer(200);
    isFocused.set(true);
    await scene.activity.settled();
    assert.equal(scene.asks(), asked + 1);
    assert.equal(shownBy(window), 7);
    scene.answer(503, { "retry-after": "600" });
    await scene.activity.pass(31);
    assert.equal(shownBy(window), "out-of-reach");
    const refused = scene.asks();
    scene.answer(200);
    isFocused.set(false);
    isFocused.set(true);
    await scene.activity.pass(590);
    assert.equal(scene.asks(), refused);
    await scene.activity.pass(15);
    assert.equal(shownBy(window), 7);
  });
});

describe("a service whose events fail", () => {
  it("is asked for them every five minutes, also with numbers that windows share", async () => {
    await using scene = await polled(1, {}, 200, 500);
    const [window] = scene.sessions;
    window?.watch();
    await scene.activity.pass(1);
    assert.equal(shownBy(window), 7);
    const before = scene.events();
    await scene.activity.pass(hour);
    const asked = scene.events() - before;
    assert(asked >= 10 && asked <= 12, String(asked));
    assert.equal(shownBy(window), 7);
  });
});

describe("the numbers of a service without events", () => {
  it("are not today's from 00:00 UTC by the service's clock until it was asked, which is within seconds", async () => {
    await using scene = await polled(2);
    // This machine's clock is hours off: only the service's `Date` tells the day.
    const { clock, sessions, activity } = scene;
    clock.wallStart = Date.parse("2026-03-03T18:59:00Z");
    scene.setAhead(5 * hour * 1000);
    for (const window of sessions) window.watch();
    await activity.pass(58);
    scene.use(0);
    const asked = scene.asks();
    assert.deepEqual(
      sessions.map(({ reading }) => reading.value?.how),
      ["asked", "asked"],
    );
    let unknown = 0;
    for (let second = 0; second < 4; second++) {
      await activity.pass(1);
      for (const { state, reading } of sessions) {
        if (reading.value === undefined) unknown += 1;
        else if (clock.now() >= Date.parse("2026-03-03T19:00:01Z"))
          assert.equal(state.value.kind === "live" && state.value.org.usage.runsToday, 0);
      }
    }
    await activity.pass(20);
    assert(unknown > 0);
    assert.equal(scene.asks() - asked, 1);
    assert.deepEqual(sessions.map(shownBy), [0, 0]);
  });

  it("are asked for every 10 s at the most of one whose clock stands still right before 00:00 UTC", async () => {
    await using scene = await polled(1);
    const { sessions, activity } = scene;
    scene.answer(200, { date: "Tue, 03 Mar 2026 23:59:59 GMT" });
    for (const window of sessions) window.watch();
    await activity.pass(60);
    assert(scene.asks() <= 7, `asked ${scene.asks()} times`);
    assert.deepEqual(sessions.map(shownBy), [7]);
  });

  it("are asked for again after the machine has slept, and not shown meanwhile", async () => {
    await using scene = await polled(1);
    const [window] = scene.sessions;
    window?.watch();
    await scene.activity.pass(10);
    const seen: (string | number | undefined)[] = [];
    const following = window?.state.follow(() => seen.push(shownBy(window)));
    scene.use(30);
    // The wall clock goes on while timers stand still.
    scene.clock.wallStart += 2 * hour * 1000;
    await scene.activity.pass(21);
    following?.dispose();
    assert.equal(shownBy(window), 30);
    assert.deepEqual(seen.slice(1), ["connecting", 30]);
  });

  it("come from the windows that are left when one crashes while it asks", async () => {
    await using folder = await TemporaryFolder.make();
    const one = new NumbersFile(folder.path, new URL("https://cloud.example/"), testKey);
    const other = new NumbersFile(folder.path, new URL("https://cloud.example/"), testKey);
    assert(await one.tryLock());
    assert.equal(await other.tryLock(), undefined);
    const lock = (await readdir(`${folder.path}/numbers`))[0];
    await utimes(`${folder.path}/numbers/${lock}`, 1, 1);
    const giveBack = await other.tryLock();
    assert(giveBack);
    await giveBack();
    assert(await one.tryLock());
  });
});
