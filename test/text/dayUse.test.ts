import assert from "node:assert/strict";
import { countDayUse, usedUpAt, useText } from "../../src/text/dayUse.ts";
import { english } from "../../src/text/refusalText.ts";

const org = (runsToday: number, runsPerDay = 50) => ({
  limits: { parallelRuns: 1, runsPerDay },
  usage: { runsToday },
});
const at = (time: string) => Date.parse(`2026-03-04T${time}Z`);

describe("who used the day's runs", () => {
  it("is counted by pipeline and by key, the most first, without what a service leaves out", () => {
    const use = countDayUse([
      { pipeline: "hello", actor: "key_1" },
      { pipeline: "nightly", actor: "key_2" },
      { pipeline: "nightly", actor: undefined },
      { pipeline: undefined, actor: "key_2" },
    ]);
    assert.deepEqual(use.byPipeline, [
      { name: "nightly", runs: 2 },
      { name: "hello", runs: 1 },
    ]);
    assert.deepEqual(use.byActor, [
      { actor: "key_2", name: "key_2", runs: 2 },
      { actor: "key_1", name: "key_1", runs: 1 },
    ]);
  });

  it("names keys by their names, and counts two of one name each for itself", () => {
    const { byActor } = countDayUse([
      { pipeline: undefined, actor: "key_1", actorName: "ada" },
      { pipeline: undefined, actor: "key_2", actorName: "ada" },
      { pipeline: undefined, actor: "key_2", actorName: "ada" },
      { pipeline: undefined, actor: "key_3", actorName: undefined },
    ]);
    assert.deepEqual(byActor, [
      { actor: "key_2", actorName: "ada", name: "ada", runs: 2 },
      { actor: "key_1", actorName: "ada", name: "ada", runs: 1 },
      { actor: "key_3", name: "key_3", runs: 1 },
    ]);
    assert.equal(useText({ byPipeline: [], byActor }, "key_1", english), "Started by ada 2, you 1, key_3 1");
  });

  it("names three, and a fourth rather than one other", () => {
    const counts = (number: number) =>
      Array.from({ length: number }, (_, index) => ({
        actor: `p${index}`,
        name: `p${index}`,
        runs: 9 - index,
      }));
    const text = (number: number) =>
      useText({ byPipeline: counts(number), byActor: counts(2) }, "p1", english);
    assert.equal(text(2), "Used by p0 9, p1 8; started by p0 9, you 8");
    assert.equal(text(4), "Used by p0 9, p1 8, p2 7, p3 6; started by p0 9, you 8");
    assert.equal(text(5), "Used by p0 9, p1 8, p2 7, 2 others 11; started by p0 9, you 8");
  });

  it("names only what a service's runs have", () => {
    const counts = [{ actor: "it", name: "it", runs: 3 }];
    const text = (byPipeline: typeof counts, byActor: typeof counts) =>
      useText({ byPipeline, byActor }, "it", english);
    assert.equal(text([], counts), "Started by you 3");
    assert.equal(text(counts, []), "Used by it 3");
    assert.equal(text([], []), undefined);
  });
});

describe("the pace of a day", () => {
  it("tells when the runs are used up if they go on as since 00:00 UTC", () => {
    assert.equal(usedUpAt(org(25), at("06:00:00")), at("12:00:00"));
    assert.equal(usedUpAt(org(40), at("16:00:00")), at("20:00:00"));
  });

  it("tells nothing while they last, once they are used up, and of a few runs", () => {
    assert.equal(usedUpAt(org(25), at("12:00:00")), undefined);
    assert.equal(usedUpAt(org(50), at("12:00:00")), undefined);
    assert.equal(usedUpAt(org(4), at("00:10:00")), undefined);
  });
});
