import assert from "node:assert/strict";
import { Deadline, DeadlinePassed } from "../../src/client/service/deadline.ts";
import { systemClock } from "../../src/machine/clock.ts";
import { FakeClock } from "../clock/fakeClock.ts";

const never = new AbortController().signal;

describe("the machine's clock", () => {
  it("goes forward, and wakes who sleeps", async () => {
    const before = systemClock.monotonic();
    await systemClock.sleep(1, never);
    assert.ok(systemClock.monotonic() > before);
    assert.ok(systemClock.now() > Date.parse("2026-01-01T00:00:00Z"));
  });

  it("gives up a sleep with the signal's own reason", async () => {
    const stop = new AbortController();
    const slept = systemClock.sleep(1_000_000, stop.signal);
    const reason = new Error("wake up");
    stop.abort(reason);
    await assert.rejects(slept, reason);
    await assert.rejects(systemClock.sleep(1_000_000, stop.signal), reason);
  });
});

describe("a deadline", () => {
  it("aborts its signal when its time has passed, counted from when it was last armed", () => {
    const clock = new FakeClock();
    using deadline = new Deadline(clock, never);
    deadline.arm(10);
    clock.advance(9000);
    deadline.arm(10);
    clock.advance(9999);
    assert.equal(deadline.signal.aborted, false);
    assert.equal(clock.alarms, 1);
  });

  it("says how long it was", async () => {
    const clock = new FakeClock();
    using deadline = new Deadline(clock, never);
    deadline.arm(10);
    clock.advance(10_000);
    await Promise.resolve();
    assert.ok(deadline.signal.reason instanceof DeadlinePassed);
    assert.equal(deadline.signal.reason.seconds, 10);
  });

  it("aborts with the outer signal, and its reason", () => {
    const outer = new AbortController();
    using early = new Deadline(new FakeClock(), outer.signal);
    const reason = new Error("outer");
    outer.abort(reason);
    using late = new Deadline(new FakeClock(), outer.signal);
    assert.equal(early.signal.reason, reason);
    assert.equal(late.signal.reason, reason);
  });

  it("leaves no timer and closes what still listens once it is disposed", () => {
    const clock = new FakeClock();
    const deadline = new Deadline(clock, never);
    deadline.arm(10);
    deadline[Symbol.dispose]();
    assert.equal(clock.alarms, 0);
    assert.equal(deadline.signal.aborted, true);
  });
});
