import assert from "node:assert/strict";
import { movedReader } from "../../../src/extension/log/stickToEnd.ts";

describe("a reader of a log that grows", () => {
  const atEnd = movedReader(undefined, { first: 60, last: 99, lineCount: 101 });

  it("is at the end who sees the last line, and not who doesn't", () => {
    assert.equal(atEnd.isAtEnd, true);
    assert.equal(movedReader(undefined, { first: 0, last: 39, lineCount: 101 }).isAtEnd, false);
  });

  it("stays at the end while the log grows below the view", () => {
    assert.equal(movedReader(atEnd, { first: 60, last: 99, lineCount: 500 }).isAtEnd, true);
    assert.equal(movedReader(atEnd, { first: 200, last: 239, lineCount: 500 }).isAtEnd, true);
  });

  it("is left alone after going up, and followed again once back", () => {
    const up = movedReader(atEnd, { first: 40, last: 79, lineCount: 101 });
    assert.equal(up.isAtEnd, false);
    const down = movedReader(up, { first: 50, last: 89, lineCount: 101 });
    assert.equal(down.isAtEnd, false);
    assert.equal(movedReader(down, { first: 61, last: 100, lineCount: 101 }).isAtEnd, true);
  });
});
