import assert from "node:assert/strict";
import * as fc from "fast-check";
import { nextReset, secondsToReset, utcDay } from "../../src/contract/limits.ts";
import { duration, elapsed } from "../../src/text/time.ts";
import { holds } from "../contract/holds.ts";

const instants = fc.integer({ min: 0, max: Date.parse("9999-12-30") });

describe("the day of the count", () => {
  it("ends at the next 00:00 UTC, whatever the zone", () => {
    const instant = Date.parse("2026-03-29T23:59:59.001+02:00");
    assert.equal(utcDay(instant), "2026-03-29");
    assert.equal(new Date(nextReset(instant)).toISOString(), "2026-03-30T00:00:00.000Z");
    assert.equal(secondsToReset(instant), 7201);
  });

  it("has a whole day before it at 00:00 UTC itself", () => {
    assert.equal(secondsToReset(Date.parse("2026-01-01T00:00:00Z")), 86_400);
  });

  it("is never told as 0 s away", () => {
    assert.equal(secondsToReset(Date.parse("2026-01-01T23:59:59.999Z")), 1);
  });

  it("resets later than any instant, by no more than a day, at a UTC midnight", () => {
    holds(
      fc.property(instants, (instant) => {
        const reset = nextReset(instant);
        assert.ok(reset > instant && reset - instant <= 86_400_000);
        assert.match(new Date(reset).toISOString(), /T00:00:00\.000Z$/);
        assert.notEqual(utcDay(reset), utcDay(instant));
        assert.equal(utcDay(reset - 1), utcDay(instant));
      }),
    );
  });

  it("has come once the told seconds have passed, and not a second sooner", () => {
    holds(
      fc.property(instants, (instant) => {
        const seconds = secondsToReset(instant);
        assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 86_400);
        assert.notEqual(utcDay(instant + seconds * 1000), utcDay(instant));
        assert.equal(utcDay(instant + (seconds - 1) * 1000), utcDay(instant));
      }),
    );
  });
});

describe("a duration", () => {
  it("is shown in at most two units, rounded down, without what is zero", () => {
    const shown: readonly [milliseconds: number, text: string][] = [
      [-400, "0 s"],
      [0, "0 s"],
      [0.9, "0 s"],
      [3, "3 ms"],
      [999.9, "999 ms"],
      [1000, "1 s"],
      [1550, "1.5 s"],
      [9_999, "9.9 s"],
      [10_000, "10 s"],
      [59_999, "59 s"],
      [60_000, "1 min"],
      [185_000, "3 min 5 s"],
      [3_600_000, "1 h"],
      [3_725_000, "1 h 2 min"],
      [55_465_000, "15 h 24 min"],
    ];
    for (const [milliseconds, text] of shown) assert.equal(duration(milliseconds), text);
  });

  it("that goes on counts whole seconds", () => {
    assert.deepEqual([-400, 900, 3_700, 61_500].map(elapsed), ["0 s", "0 s", "3 s", "1 min 1 s"]);
  });
});
