import assert from "node:assert/strict";
import { readNamedTime } from "../../../src/cli/commands/namedTime.ts";

/** A Wednesday; in New York the clocks have gone back on the Sunday before. */
const now = "2026-11-04T12:30:00-05:00";

function read(text: string): string[] {
  const { from, to } = readNamedTime(text, Date.parse(now)) ?? {};
  return [from, to].map((time) => (time === undefined ? "none" : new Date(time).toISOString()));
}

describe("a time as a person names it", () => {
  let zone: string | undefined;
  before(() => {
    zone = process.env["TZ"];
    process.env["TZ"] = "America/New_York";
  });
  after(() => {
    if (zone === undefined) delete process.env["TZ"];
    else process.env["TZ"] = zone;
  });

  const days = {
    today: ["2026-11-04T05:00:00.000Z", "2026-11-05T05:00:00.000Z"],
    Yesterday: ["2026-11-03T05:00:00.000Z", "2026-11-04T05:00:00.000Z"],
    wednesday: ["2026-11-04T05:00:00.000Z", "2026-11-05T05:00:00.000Z"],
    thursday: ["2026-10-29T04:00:00.000Z", "2026-10-30T04:00:00.000Z"],
    "2026-11-04": ["2026-11-04T05:00:00.000Z", "2026-11-05T05:00:00.000Z"],
    // Of 25 hours.
    sun: ["2026-11-01T04:00:00.000Z", "2026-11-02T05:00:00.000Z"],
  };
  for (const [text, expected] of Object.entries(days)) {
    it(`is the whole day of ${text}, in the reader's time zone`, () =>
      assert.deepEqual(read(text), expected));
  }

  const instants = {
    "3h": "2026-11-04T14:30:00.000Z",
    "90m": "2026-11-04T16:00:00.000Z",
    "2d": "2026-11-02T17:30:00.000Z",
    "2026-11-04T10:00": "2026-11-04T15:00:00.000Z",
    "2026-11-04 10:00": "2026-11-04T15:00:00.000Z",
    "2026-11-04T10:00Z": "2026-11-04T10:00:00.000Z",
    "2026-11-04T10:00:30.5+01:00": "2026-11-04T09:00:30.500Z",
  };
  for (const [text, expected] of Object.entries(instants)) {
    it(`is the instant of ${text}`, () => assert.deepEqual(read(text), [expected, expected]));
  }

  it("is nothing else", () => {
    const others = [
      "",
      "now",
      "fri day",
      "3",
      "-3h",
      "2026-02-30",
      "2026-13-01",
      "2026-11-4",
      "2026-02-30T10:00",
    ];
    for (const text of [...others, "2026-11-04T25:00", "2026-11-04T10:00 EST", "11/04/2026", "constructor"]) {
      assert.deepEqual(read(text), ["none", "none"], text);
    }
  });
});
