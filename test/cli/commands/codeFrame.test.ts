import assert from "node:assert/strict";
import fc from "fast-check";
import { codeFrame } from "../../../src/cli/commands/validate.ts";
import { styleOf, widthOf } from "../../../src/cli/terminal/terminal.ts";

const terminal = (columns: number) => ({
  style: styleOf(false),
  isLive: false,
  hasUnicode: true,
  hasColor: false,
  isTerminal: false,
  columns,
  rows: 24,
});
const frame = (text: string, line: number, column: number, columns = 80) =>
  codeFrame(text, { line, column }, terminal(columns));

describe("the line that a problem is in", () => {
  it("has a caret below the column, also behind tabs, wide characters and marks that take no room", () => {
    assert.deepEqual(frame("a: b\nkey: x\n", 2, 6), ["2 | key: x", "  |      ^"]);
    assert.deepEqual(frame("\tkey: x", 1, 2), ["1 |     key: x", "  |     ^"]);
    assert.deepEqual(frame("日本: x", 1, 5), ["1 | 日本: x", "  |       ^"]);
    assert.deepEqual(frame("e\u0301👩‍👩‍👧: x", 1, 12), ["1 | e\u0301👩‍👩‍👧: x", "  |     ^"]);
  });

  it("is one line of the text, without its line end", () => {
    assert.deepEqual(frame("a: b\r\n", 1, 5), ["1 | a: b", "  |     ^"]);
    assert.deepEqual(frame("a\n\nb", 2, 1), []);
    assert.deepEqual(frame("a", 7, 1), []);
  });

  it("can't drive the terminal", () => {
    assert.deepEqual(frame("a\u001b[31m\u202eb", 1, 8), ["1 | a\ufffd[31m\ufffdb", "  |        ^"]);
  });

  it("is cut to the terminal's width around the caret", () => {
    const text = `start ${"x".repeat(200)}HERE${"y".repeat(200)}`;
    const [shown = "", caret = ""] = frame(text, 1, 207, 60);
    assert(shown.length < 60);
    assert.equal(shown.slice(caret.indexOf("^")).slice(0, 4), "HERE");
    assert.match(shown, /^1 \| ….*…$/);
  });

  it("never throws, never is wider than the terminal, and points at what is there", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 300 }),
        fc.nat(350),
        fc.integer({ min: 40, max: 200 }),
        (text, column, columns) => {
          for (const line of frame(text, 1, column + 1, columns)) assert(widthOf(line) <= columns, line);
        },
      ),
    );
  });

  it("is found quickly in a line of 64 KiB", () => {
    const [shown = "", caret = ""] = frame(`${"あ".repeat(40_000)}x${"い".repeat(20_000)}`, 1, 40_001);
    assert.equal(shown.includes("x"), true);
    assert.equal(widthOf(shown.slice(0, shown.indexOf("x"))), caret.indexOf("^"));
  });
});
