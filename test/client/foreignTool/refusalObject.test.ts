import assert from "node:assert/strict";
import * as fc from "fast-check";
import { readRefusalObject } from "../../../src/client/foreignTool/foreignTool.ts";
import { secondsToReset } from "../../../src/contract/limits.ts";
import { type Refusal, refusalReport } from "../../../src/contract/refusal.ts";
import { holds } from "../../contract/holds.ts";

const now = Date.parse("2026-03-03T10:00:00Z");
const refusals: fc.Arbitrary<Refusal> = fc.oneof(
  fc.constant({ scope: "org" as const }),
  fc.record(
    { scope: fc.constant("free-day" as const), secondsToReset: fc.integer({ min: 1, max: 86_400 }) },
    { noNullPrototype: true },
  ),
);

describe("the refusal object of a tool", () => {
  it("of this project's own tool tells the refusal that it was made of", () => {
    holds(
      fc.property(refusals, fc.nat(120), fc.string({ minLength: 1 }), (refusal, waitedSeconds, pipeline) => {
        const report = refusalReport({ pipeline, refusal, waitedSeconds });
        assert.deepEqual(readRefusalObject(`\n${JSON.stringify(report, null, 2)}\n`, now), {
          kind: "valid",
          value: { refusal, message: report.error.message, hints: report.hints },
        });
      }),
    );
  });

  it("in another tool's words tells the scope and the seconds", () => {
    const told = readRefusalObject(
      JSON.stringify({
        ok: false,
        command: "run",
        error: { type: "too-many-runs", message: "free-day limit of 50 runs; wait 4321 seconds" },
        hints: [{ command: "plctl run nightly", doc: "try later" }],
        warnings: [],
        extra: true,
      }),
      now,
    );
    assert.deepEqual(told.kind === "valid" && told.value.refusal, {
      scope: "free-day",
      secondsToReset: 4321,
    });
  });

  it("without seconds tells those of the caller's clock", () => {
    const error = { type: "too-many-runs", message: "free-day" };
    const told = readRefusalObject(JSON.stringify({ ok: false, command: "run", error, hints: [] }), now);
    assert.deepEqual(told.kind === "valid" && told.value.refusal, {
      scope: "free-day",
      secondsToReset: secondsToReset(now),
    });
  });

  it("that is none is told by the field", () => {
    const cases: [string, string][] = [
      ["", "its output is not one JSON object"],
      ["Refused.", "its output is not one JSON object"],
      ["{}", "`ok` is not valid"],
      ['{"ok":false,"command":"run","hints":[]}', "`error` is missing (expected an object)"],
    ];
    for (const [output, problem] of cases) {
      assert.deepEqual(readRefusalObject(output, now), { kind: "invalid", problem });
    }
  });

  it("never crashes whoever reads it", () => {
    holds(
      fc.property(
        fc.oneof(fc.json(), fc.string()),
        (output) => readRefusalObject(output, now).kind !== undefined,
      ),
    );
  });
});
