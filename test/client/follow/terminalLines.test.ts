import assert from "node:assert/strict";
import fc from "fast-check";
import { TerminalLines } from "../../../src/client/follow/terminalLines.ts";
import type { LogEntry } from "../../../src/contract/log.ts";

const at = "2026-03-03T10:00:00Z";
const esc = "\u001b";
const apiKey = "plk_5ecre7-0f-the-test";
const color = new RegExp(`${esc}\\[[\\d;:]*m`);

/** The lines of entries, each `[text, stream, step]`. */
function linesOf(
  entries: readonly (readonly [text: string, stream?: string, stepIndex?: number])[],
  hasColor = false,
) {
  const lines = new TerminalLines({ hasColor, apiKeys: new Set([apiKey]) });
  const told = entries.flatMap(([text, stream = "stdout", stepIndex = 0], index) =>
    lines.add({ sequence: index + 1, at, stepIndex, stream, text } satisfies LogEntry),
  );
  return [...told, ...lines.rest()].map(({ text }) => text);
}

describe("a run's log on a terminal", () => {
  it("is made of whole lines, of which no two streams share one", () => {
    assert.deepEqual(linesOf([["one "], ["oops\n", "stderr"], ["two\nthree\n"]]), [
      "oops",
      "one two",
      "three",
    ]);
  });

  it("keeps what has no line end, before what is said of it and before the next step", () => {
    assert.deepEqual(linesOf([["half"], ["exit code 1\n", "note"], ["next\n", "stdout", 1], ["last"]]), [
      "half",
      "exit code 1",
      "next",
      "last",
    ]);
  });

  it("keeps empty lines, and makes none of its own", () => {
    assert.deepEqual(linesOf([["one\n"], ["\n"], ["two\n"]]), ["one", "", "two"]);
    assert.deepEqual(linesOf([["one\r\n"], ["two\r"], ["\n"]]), ["one", "two"]);
  });

  it("shows what a progress bar has written last", () => {
    assert.deepEqual(linesOf([["10 %\r20 %\r"], ["30 %\r\n"]]), ["30 %"]);
  });

  it("shows a line that never ends in pieces", () => {
    const lines = linesOf(Array.from({ length: 10 }, () => ["x".repeat(30_000)] as const));
    assert.equal(lines.join("").length, 300_000);
    assert.ok(lines.every(({ length }) => length < 100_000));
  });

  it("lets nothing through that would drive the terminal, also when it comes in pieces", () => {
    const hostile = [
      "\u001b[2J\u001b[1;1Ha",
      "\u001b]0;title\u0007b",
      "\u001b]52;c;cm0gLXJm\u001b\\c",
      "\u001bPq\u001b\\d",
      "\u009b31me\u009d0;x\u009cf",
      "\u001bcg\u0007\u0008h",
      "\u202ei",
      "\u001b[8mj\u001b[28m",
      "\u001b[?1049hk",
    ];
    assert.deepEqual(linesOf(hostile.map((text) => [text] as const)), ["abcdefghijk"]);
    const letters = [...hostile.join("")].map((text) => [text] as const);
    assert.deepEqual(linesOf(letters), ["abcdefghijk"]);
  });

  it("keeps colours where they are wanted, ends them with the line, and takes them up in the next", () => {
    const red = "\u001b[31mred\nstill\u001b[0m plain\n\u001b[38;5;8mgrey\u001b[m\n\u001b[1;8mhidden\n";
    assert.deepEqual(linesOf([[red]], true), [
      "\u001b[31mred\u001b[0m",
      "\u001b[31mstill\u001b[0m plain",
      "\u001b[38;5;8mgrey\u001b[m",
      "hidden",
    ]);
    assert.deepEqual(linesOf([[red]]), ["red", "still plain", "grey", "hidden"]);
  });

  it("never shows the API key, also where what stood in its middle is taken out", () => {
    const [begin, rest] = [apiKey.slice(0, 8), apiKey.slice(8)];
    for (const between of ["", "\0", "\u200e", "\u001b[31m", "\u001b[2K", "\u001b]0;title\u0007"]) {
      const whole = [[`a ${begin}${between}${rest} b\n`]] as const;
      const inPieces = [[`a ${begin}`], [between], [`${rest} b\n`]] as const;
      for (const entries of [whole, inPieces]) {
        for (const hasColor of [false, true]) {
          assert.deepEqual(linesOf(entries, hasColor), ["a (the API key) b"], JSON.stringify(between));
        }
      }
    }
  });

  it("holds for whatever a program writes", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "\u001b[31m",
        "\u001b[0m",
        "\u001b[",
        "\u001b]0;",
        "\u0007",
        "\r",
        "\n",
        "\u009b",
        "8m",
        ";",
      ),
      fc.string({ unit: "binary", maxLength: 8 }),
    );
    const stream = fc.constantFrom("stdout", "stderr", "note");
    const entry = fc.tuple(piece, stream, fc.nat(2));
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 30 }), fc.boolean(), (entries, hasColor) => {
        for (const line of linesOf(entries, hasColor)) {
          const rest = hasColor ? line.split(color).join("") : line;
          assert.doesNotMatch(rest, /(?!\t)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
        }
      }),
    );
  });
});
