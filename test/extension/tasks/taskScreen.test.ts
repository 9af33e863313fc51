import assert from "node:assert/strict";
import { style } from "../../../src/extension/tasks/taskTerminal.ts";
import { readScreen } from "./terminalText.ts";

describe("the screen of a task", () => {
  it("lets what is printed next replace a passing line", () => {
    const read = readScreen();
    read.screen.line("one");
    read.screen.passing("3 s left");
    read.screen.passing("2 s left");
    assert.deepEqual(read.lines, ["one", "2 s left"]);
    read.screen.line("two");
    assert.deepEqual(read.lines, ["one", "two"]);
    read.screen.passing("1 s left");
    read.screen.clear();
    read.screen.line("three\nfour");
    assert.deepEqual(read.lines, ["one", "two", "three", "four"]);
  });

  it("obeys nothing in a text but its colours", () => {
    const read = readScreen();
    read.screen.line(`${style.bad("red")} \u001b]0;a title\u0007 \u001b[2Jgone`);
    assert.equal(read.raw, "\u001b[31mred\u001b[39m \ufffd]0;a title\ufffd \ufffd[2Jgone\r\n");
  });
});
