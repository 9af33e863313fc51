import assert from "node:assert/strict";
import { movedReader, StickToEnd } from "../../../src/extension/log/stickToEnd.ts";

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

  it("begins at the end of a log that still grows, and isn't taken there again", () => {
    const readers = new StickToEnd();
    const revealed: unknown[] = [];
    const shown = (document: object) =>
      ({ document, revealRange: (range: unknown) => revealed.push(range) }) as never;
    const document = (lineCount: number) => ({ lineCount, lineAt: (line: number) => ({ range: line }) });
    const [active, ended] = [document(500), document(7)];
    readers.appeared(shown(active), true);
    readers.appeared(shown(ended), false);
    readers.appeared(shown(active), true);
    assert.deepEqual(revealed, [499]);
  });
});
