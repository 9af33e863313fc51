import assert from "node:assert/strict";
import { isMet } from "../../bench/benchmark.ts";
import { median, quantile } from "../../bench/median.ts";
import { jsonReport, type Outcome, textReport } from "../../bench/report.ts";

const machine = {
  system: "Linux",
  processors: "2 × fast",
  memoryBytes: 2 ** 31,
  node: "24.0.0",
  load: [1, 2, 3],
};
const about = { decides: "something", seconds: 1, load: [1, 2, 3] } as const;

const outcomes: readonly Outcome[] = [
  {
    ...about,
    name: "race",
    result: {
      kind: "measured",
      rounds: 3,
      tables: [
        {
          rows: [
            {
              name: "ours",
              figures: [
                { name: "median", value: 12.34, unit: "ms" },
                { name: "ratio", value: 2.5, unit: "×", beside: "theirs", goal: { atMost: 2 } },
                { name: "share", value: 0.95, unit: "×", goal: { atLeast: 0.9 } },
              ],
            },
          ],
        },
      ],
    },
  },
  { ...about, name: "elsewhere", result: { kind: "not-measured", why: "only Linux tells" } },
  { ...about, name: "broken", result: { kind: "failed", why: "it fell over" } },
];

describe("the benchmarks' report", () => {
  it("says of each goal whether it is met, and names each that is missed", () => {
    const text = textReport(machine, outcomes);
    assert.match(text, /12\.3 ms +2\.50 × theirs \[at most 2: MISSED\] +0\.95 × \[at least 0\.9: met\]/);
    assert.match(
      text,
      /^1 of 2 goals met; missed:\n {3}race \/ ours \/ ratio: 2\.50 ×, meant to be at most 2$/m,
    );
  });

  it("leaves out none that could not be measured or failed", () => {
    const text = textReport(machine, outcomes);
    assert.match(text, /── elsewhere: not measured here\n {3}only Linux tells/);
    assert.match(text, /── broken: failed .*\n {3}it fell over/);
    assert.match(text, /No figures of: elsewhere, broken$/);
  });

  it("is one JSON object that tells the same, and is not `ok` when one has failed", () => {
    const report = JSON.parse(jsonReport(machine, outcomes));
    assert.equal(report.ok, false);
    assert.deepEqual(report.goals, { met: 1, of: 2 });
    assert.deepEqual(
      report.benchmarks.map(({ name, kind }: { name: string; kind: string }) => [name, kind]),
      [
        ["race", "measured"],
        ["elsewhere", "not-measured"],
        ["broken", "failed"],
      ],
    );
    const [, ratio, share] = report.benchmarks[0].tables[0].rows[0].figures;
    assert.deepEqual([ratio.isMet, share.isMet], [false, true]);
  });

  it("counts what is no number as missed", () => {
    assert.equal(isMet(Number.NaN, { atMost: 2 }), false);
    assert.equal(isMet(Number.NaN, { atLeast: 2 }), false);
  });
});

describe("a quantile", () => {
  it("is a value that was measured, and a median lies between two", () => {
    const values = Array.from({ length: 200 }, (_, at) => 200 - at);
    assert.equal(quantile(values, 0.99), 198);
    assert.equal(quantile([7], 0.99), 7);
    assert.equal(median(values), 100.5);
    assert(Number.isNaN(quantile([], 0.5)) && Number.isNaN(median([])));
  });
});
