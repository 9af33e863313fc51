import assert from "node:assert/strict";
import { linesOf } from "../../src/service/page/pageLog.ts";

let sequence = 0;

function entry(stepIndex: number, stream: string, text: string) {
  sequence += 1;
  return { sequence, at: "2026-03-01T08:00:00.000Z", stepIndex, stream, text };
}

function shown(entries: Parameters<typeof linesOf>[0]): string[] {
  return linesOf(entries).map(({ stepIndex, stream, text }) => `${stepIndex} ${stream} ${text}`);
}

describe("the lines of a log", () => {
  it("are put together from the pieces of each stream, those without an end last", () => {
    const entries = [
      entry(0, "stdout", "one\ntw"),
      entry(0, "stderr", "oh"),
      entry(0, "stdout", "o\nthree"),
      entry(0, "stderr", " no\n"),
      entry(1, "stdout", "next\n"),
      entry(1, "stdout", "more"),
      entry(1, "stderr", "!\n"),
    ];
    assert.deepEqual(shown(entries), [
      "0 stdout one",
      "0 stdout two",
      "0 stderr oh no",
      "0 stdout three",
      "1 stdout next",
      "1 stderr !",
      "1 stdout more",
    ]);
  });

  it("keep their names while they grow", () => {
    const first = entry(0, "stdout", "a\nb");
    const [, before] = linesOf([first]);
    const [, after] = linesOf([first, entry(0, "stdout", "c\n")]);
    assert.deepEqual([before?.text, after?.text], ["b", "bc"]);
    assert.equal(before?.id, after?.id);
  });

  it("keep the empty ones, of which a program made them", () => {
    assert.deepEqual(shown([entry(0, "stdout", "a\n\nb\n"), entry(0, "stdout", "\n")]), [
      "0 stdout a",
      "0 stdout ",
      "0 stdout b",
      "0 stdout ",
    ]);
  });

  it("end as a terminal would show them: a progress bar by its last state, Windows' line ends as line ends", () => {
    assert.deepEqual(shown([entry(0, "stdout", "10 %\r50 %\r100 %\r\ndone\r\n")]), [
      "0 stdout 100 %",
      "0 stdout done",
    ]);
  });

  it("are cut where they are so long that nobody reads them", () => {
    const [line] = linesOf([entry(0, "stdout", "x".repeat(100_000))]);
    assert.equal(line?.text.length, 2001);
    assert(line?.text.endsWith("…"));
  });
});
