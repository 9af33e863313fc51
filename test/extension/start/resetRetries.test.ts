import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { OutOfReach } from "../../../src/client/service/reachFaults.ts";
import type { StartRequest } from "../../../src/contract/run.ts";
import {
  type PendingRetry,
  ResetRetries,
  type RetryFiles,
} from "../../../src/extension/start/resetRetries.ts";
import { LoopbackService, orgOnWire, sendJson } from "../../client/loopbackService.ts";
import { Told } from "../../client/told.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { fakeWindow } from "./fakeWindow.ts";

const never = new AbortController().signal;
const hour = 3_600_000;

/** What a workspace keeps, for the windows that are opened with it. */
function workspace() {
  const store = new Map<string, PendingRetry>();
  return {
    /** Whether what is kept can be read now. */
    isReadable: true,
    async list() {
      return this.isReadable ? [...store.values()] : [];
    },
    put: async (retry: PendingRetry) => void store.set(retry.id, retry),
    take: async (id: string) => store.delete(id),
  };
}

/** A machine with its clock, and a service whose own is `ahead` of it, in milliseconds. */
async function machine() {
  const clock = new FakeClock();
  const told = { ahead: 0, org: "org_1", isAway: false };
  const service = await LoopbackService.listen((_, response) => {
    const date = new Date(clock.now() + told.ahead).toUTCString();
    sendJson(response, 200, { ...orgOnWire, "org-id": told.org }, { date });
  });
  const target = { origin: service.origin };
  const open = (store: Pick<RetryFiles, "list" | "put" | "take">, presses: string[] = []) => {
    const { window, texts, shown } = fakeWindow(presses);
    const started = new Told<StartRequest>();
    const retries = new ResetRetries({
      store,
      session: {
        get origin() {
          return target.origin;
        },
        connect: async () => {
          if (told.isAway) throw new OutOfReach("refused", "It does not answer.", {});
          return service.client(clock);
        },
      },
      clock,
      random: () => 0.5,
      window,
      log: { info: () => {} },
      start: async (wish) => started.tell(wish),
    });
    return { retries, started, texts, shown, [Symbol.dispose]: () => retries.dispose() };
  };
  /** Lets time pass in the steps in which the clock is looked at. */
  const pass = async (milliseconds: number, until: () => boolean = () => false) => {
    const end = clock.now() + milliseconds;
    while (clock.now() < end) {
      for (let turns = 0; turns < 20; turns++) await turn();
      if (until()) break;
      if (clock.alarms > 0) clock.advanceToNext();
      else clock.advance(1000);
    }
    for (let turns = 0; turns < 200; turns++) await turn();
  };
  return {
    clock,
    told,
    service,
    target,
    open,
    pass,
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

describe("a start that is deferred until 00:00 UTC", () => {
  it("is made some seconds after the reset, once, with what was asked for", async () => {
    await using place = await machine();
    using window = place.open(workspace());
    const retry = await window.retries.add(
      { pipeline: "nightly", project: "shop", timeLimitSeconds: 60 },
      never,
    );
    const late = retry.dueAt - Date.parse("2026-03-04T00:00:00Z");
    assert(late >= 1000 && late <= 10_000, `${late} ms after it`);
    await place.pass(13.9 * hour);
    assert.deepEqual(window.started.all, []);
    assert.equal(window.retries.pending.value.length, 1);
    await place.pass(hour, () => window.started.all.length > 0);
    assert.equal(window.started.all.length, 1);
    const [{ pipeline, project, timeLimitSeconds } = assert.fail()] = window.started.all;
    assert.deepEqual([pipeline, project, timeLimitSeconds], ["nightly", "shop", 60]);
    assert.deepEqual(window.retries.pending.value, []);
    place.clock.advance(25 * hour);
    await place.pass(60_000);
    assert.equal(window.started.all.length, 1);
  });

  it("is another one from another step of the same pipeline", async () => {
    await using place = await machine();
    using window = place.open(workspace());
    const whole = { pipeline: "nightly" };
    const part = { pipeline: "nightly", fromStep: "publish" };
    for (const start of [whole, part, part]) await window.retries.add(start, never);
    assert.equal(window.retries.pending.value.length, 2);
    await place.pass(15 * hour, () => window.started.all.length === 2);
    assert.deepEqual(window.started.all.map(({ fromStep }) => fromStep).sort(), ["publish", undefined]);
  });

  it("is another one with other inputs, and is made with them", async () => {
    await using place = await machine();
    using window = place.open(workspace());
    const eu = { pipeline: "deploy", inputs: { region: "eu", lamps: 2 } };
    const alike = { pipeline: "deploy", inputs: { lamps: 2, region: "eu" } };
    const us = { pipeline: "deploy", inputs: { region: "us", lamps: 2 } };
    for (const start of [eu, alike, us]) await window.retries.add(start, never);
    assert.equal(window.retries.pending.value.length, 2);
    await place.pass(15 * hour, () => window.started.all.length === 2);
    assert.deepEqual(window.started.all.map(({ inputs }) => inputs?.["region"]).sort(), ["eu", "us"]);
  });

  it("goes by the service's clock, however wrong this machine's is", async () => {
    for (const ahead of [-20 * hour, -5 * hour, 9 * hour]) {
      await using place = await machine();
      place.told.ahead = ahead;
      using window = place.open(workspace());
      await window.retries.add({ pipeline: "nightly" }, never);
      await place.pass(25 * hour, () => window.started.all.length > 0);
      const served = new Date(place.clock.now() + ahead).toISOString();
      assert.match(served, /T00:00:\d\d/);
    }
  });

  it("waits longer when the service's day turns out not to be over", async () => {
    await using place = await machine();
    const memory = workspace();
    using window = place.open(memory);
    const retry = await window.retries.add({ pipeline: "nightly" }, never);
    place.told.ahead = -hour;
    await place.pass(14.5 * hour);
    assert.deepEqual(window.started.all, []);
    assert.deepEqual(await memory.list(), [retry], "who writes it again may bring a cancelled one back");
    await place.pass(hour, () => window.started.all.length > 0);
    assert.equal(window.started.all.length, 1);
  });

  it("is kept over a reload, and is made by one of several windows", async () => {
    await using place = await machine();
    const memory = workspace();
    {
      using first = place.open(memory);
      await first.retries.add({ pipeline: "nightly" }, never);
    }
    assert.equal(place.clock.alarms, 0, "a closed window leaves no timer");
    const windows = [place.open(memory), place.open(memory)];
    for (const { retries } of windows) await retries.refresh();
    const started = () => windows.flatMap((window) => window.started.all);
    assert.deepEqual(
      windows.map(({ retries }) => retries.pending.value.length),
      [1, 1],
    );
    await place.pass(15 * hour);
    assert.equal(started().length, 1);
    assert.deepEqual(
      windows.map(({ retries }) => retries.pending.value.length),
      [0, 0],
    );
    for (const window of windows) window[Symbol.dispose]();
  });

  it("is made also when what is kept can't be read for a while", async () => {
    await using place = await machine();
    const store = workspace();
    using window = place.open(store);
    await window.retries.add({ pipeline: "nightly" }, never);
    store.isReadable = false;
    await place.pass(hour);
    assert.deepEqual(window.retries.pending.value, []);
    store.isReadable = true;
    await place.pass(15 * hour, () => window.started.all.length > 0);
    assert.equal(window.started.all.length, 1);
  });

  it("that is cancelled in one window is made by none", async () => {
    await using place = await machine();
    const memory = workspace();
    using one = place.open(memory);
    const retry = await one.retries.add({ pipeline: "nightly" }, never);
    using other = place.open(memory);
    assert.equal(await one.retries.cancel(retry), true);
    assert.equal(await other.retries.cancel(retry), false);
    assert.deepEqual(one.retries.pending.value, []);
    await place.pass(60_000);
    place.clock.advance(15 * hour);
    await place.pass(60_000);
    assert.deepEqual([...one.started.all, ...other.started.all], []);
    using later = place.open(memory);
    assert.deepEqual(later.retries.pending.value, []);
  });

  it("is asked about, once, when its time has passed while no window was open", async () => {
    await using place = await machine();
    const memory = workspace();
    {
      using first = place.open(memory);
      await first.retries.add({ pipeline: "nightly" }, never);
    }
    place.clock.advance(20 * hour);
    using window = place.open(memory, ["Run Now"]);
    await window.started.atLeast(1);
    assert.deepEqual(window.shown.all[0], {
      kind: "info",
      text: "nightly was scheduled for 00:00 UTC on 2026-03-04, while this window was closed or asleep.",
      buttons: ["Run Now"],
    });
    using other = place.open(memory, ["Run Now"]);
    await place.pass(hour);
    assert.deepEqual(other.shown.all, []);
    assert.deepEqual(other.started.all, []);
  });

  it("is asked about for being late once it is more than five minutes late", async () => {
    for (const [minutes, isAsked] of [
      [4, false],
      [7, true],
    ] as const) {
      await using place = await machine();
      const memory = workspace();
      {
        using first = place.open(memory);
        await first.retries.add({ pipeline: "nightly" }, never);
      }
      const untilReset = Date.parse("2026-03-04T00:00:00Z") - place.clock.now();
      place.clock.advance(untilReset + minutes * 60_000);
      using window = place.open(memory, ["Run Now"]);
      await window.started.atLeast(1);
      const told = window.shown.all.map(({ text }) => text).join();
      assert.equal(/while this window was closed or asleep/.test(told), isAsked, told);
    }
  });

  it("is made at no other service and for no other org, but asked about", async () => {
    for (const change of ["service", "org"] as const) {
      await using place = await machine();
      using window = place.open(workspace());
      await window.retries.add({ pipeline: "nightly" }, never);
      if (change === "org") place.told.org = "org_2";
      else place.target.origin = "http://127.0.0.1:9";
      await place.pass(15 * hour);
      assert.deepEqual(window.started.all, []);
      assert.match(
        window.texts("info")[0] ?? "",
        change === "org" ? /now uses a key of another org\.$/ : /now uses another service\.$/,
      );
    }
  });

  it("is asked about once its service has been away for five minutes", async () => {
    await using place = await machine();
    using window = place.open(workspace());
    const { dueAt } = await window.retries.add({ pipeline: "nightly" }, never);
    place.told.isAway = true;
    await place.pass(15 * hour, () => window.texts("info").length > 0);
    assert.match(window.texts("info")[0] ?? "", /, but the service could not be reached\.$/);
    assert.equal(Math.round((place.clock.now() - dueAt) / 60_000), 5);
  });

  it("is made once when two windows of one folder have put it off", async () => {
    await using place = await machine();
    const memory = workspace();
    using one = place.open(memory);
    using other = place.open(memory);
    await one.retries.add({ pipeline: "nightly" }, never);
    place.clock.advance(1000);
    await other.retries.add({ pipeline: "nightly" }, never);
    await other.retries.add({ pipeline: "hourly" }, never);
    await place.pass(15 * hour);
    const made = [...one.started.all, ...other.started.all].map(({ pipeline }) => pipeline);
    assert.deepEqual(made.sort(), ["hourly", "nightly"]);
  });

  it("that is cancelled in one window goes from the others, and can be deferred again", async () => {
    await using place = await machine();
    const memory = workspace();
    using one = place.open(memory);
    using other = place.open(memory);
    await other.retries.add({ pipeline: "nightly" }, never);
    await one.retries.cancel(await one.retries.add({ pipeline: "nightly" }, never));
    await place.pass(60_000);
    assert.deepEqual(other.retries.pending.value, []);
    await other.retries.add({ pipeline: "nightly" }, never);
    await one.retries.cancel(await one.retries.add({ pipeline: "nightly" }, never));
    // Before the window has seen that it was taken back.
    await other.retries.add({ pipeline: "nightly" }, never);
    assert.equal(other.retries.pending.value.length, 1);
    await place.pass(15 * hour);
    assert.equal(one.started.all.length + other.started.all.length, 1);
  });

  it("is asked about, once in each window, where none can note that it makes it", async () => {
    await using place = await machine();
    const memory = { ...workspace(), take: () => Promise.reject(new Error("it is locked")) };
    using one = place.open(memory);
    await one.retries.add({ pipeline: "nightly" }, never);
    using other = place.open(memory);
    await place.pass(15 * hour);
    // It is still stored, and read again.
    await one.retries.add({ pipeline: "hello" }, never);
    await place.pass(hour);
    assert.deepEqual([...one.started.all, ...other.started.all], []);
    for (const window of [one, other]) {
      const [asked, ...again] = window.texts("info");
      assert.match(asked ?? "", /, but: it is locked\.$/);
      assert.deepEqual(again, []);
    }
  });

  it("that can't be removed is not said to be cancelled", async () => {
    await using place = await machine();
    using window = place.open({ ...workspace(), take: () => Promise.reject(new Error("it is locked")) });
    const retry = await window.retries.add({ pipeline: "nightly" }, never);
    await assert.rejects(window.retries.cancel(retry), /it is locked/);
    assert.equal(window.retries.pending.value.length, 1);
  });

  it("is deferred once, however often it is asked for", async () => {
    await using place = await machine();
    using window = place.open(workspace());
    const add = () => window.retries.add({ pipeline: "nightly" }, never);
    await Promise.all([add(), add()]);
    await add();
    assert.equal(window.retries.pending.value.length, 1);
  });

  it("that cannot be kept is not promised", async () => {
    await using place = await machine();
    const full = { ...workspace(), put: () => Promise.reject(new Error("no space")) };
    using window = place.open(full);
    await assert.rejects(window.retries.add({ pipeline: "nightly" }, never), /no space/);
    assert.deepEqual(window.retries.pending.value, []);
  });

  it("shows in the other windows of its workspace, and stays theirs when the window that put it off is closed", async () => {
    await using place = await machine();
    const memory = workspace();
    using other = place.open(memory);
    {
      using first = place.open(memory);
      await first.retries.add({ pipeline: "nightly" }, never);
    }
    await place.pass(30_000);
    assert.equal(other.retries.pending.value.length, 1);
    await place.pass(15 * hour, () => other.started.all.length > 0);
    assert.equal(other.started.all.length, 1);
    assert.deepEqual(await memory.list(), []);
  });
});
