import assert from "node:assert/strict";
import { lineLog } from "../../src/machine/log.ts";

describe("a line of the service's log", () => {
  it("holds no character that drives a terminal or turns the direction of writing", () => {
    const lines: string[] = [];
    const log = lineLog((line) => lines.push(line), Date.now);
    const driving = "\u001b]0;owned\u0007\r\n\u007f\u009b2J\u009d0;owned\u009c\u2028\u202e\u2066end";
    log("error", driving, { file: driving, error: new Error(driving) });
    assert.equal(lines.length, 1);
    const [line = ""] = lines;
    assert.match(line, /^[^\p{Cc}\u2028-\u202e\u2066-\u206f]+\n$/u);
    const entry: { file: string; message: string } = JSON.parse(line);
    assert.equal(entry.file, driving, "and is still told");
    assert.equal(entry.message, driving);
  });
});
