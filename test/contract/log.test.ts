import assert from "node:assert/strict";
import { LineAssembler, type LogEntry } from "../../src/contract/log.ts";

function entry(sequence: number, stream: string, stepIndex = 0): LogEntry {
  return { sequence, stepIndex, stream, at: "2026-03-03T10:00:00Z", text: `of ${stream}` };
}

describe("lines made of a log's entries", () => {
  for (const [each, stepOf] of [
    ["stream", () => 0],
    ["step", (index: number) => -index],
  ] as const) {
    it(`are few that have no end, and each is told once, also where each entry names another ${each}`, () => {
      const whole = new LineAssembler();
      const names = Array.from({ length: 2_000 }, (_, index) => `s${index}`);
      const told = names.flatMap((stream, index) => {
        const lines = whole.add(entry(index + 1, stream, stepOf(index)));
        assert(whole.begun().length <= 32);
        return lines;
      });
      assert.deepEqual(
        [...told, ...whole.rest()].map(({ text }) => text),
        names.map((name) => `of ${name}`),
      );
    });
  }
});
