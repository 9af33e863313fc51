import assert from "node:assert/strict";
import { readUtf8 } from "../../src/project/projectFile.ts";

describe("a file's text", () => {
  it("is refused with the place of its first wrong byte, also behind a character that stands for lost ones", () => {
    for (const before of ["", "a\ufffd\ufffdb", "\ufeff\ufffd\n\ufffd"]) {
      const read = readUtf8(Buffer.concat([Buffer.from(before), Buffer.of(0xfc), Buffer.from("\ufffd")]));
      assert(read.kind === "other");
      assert.match(read.problem, /the byte 0xFC here/);
      const lines = before.split("\n");
      assert.deepEqual([read.line, read.column], [lines.length, (lines.at(-1)?.length ?? 0) + 1]);
    }
    // Its beginning is that of the character that stands for lost ones.
    const cut = readUtf8(Buffer.of(0x61, 0xef, 0xbf));
    assert(cut.kind === "other");
    assert.deepEqual([/0x\w+/.exec(cut.problem)?.[0], cut.column], ["0xEF", 2]);
    assert.deepEqual(readUtf8(Buffer.from("a\ufffd")), { kind: "text", text: "a\ufffd" });
  });

  it("has no byte-order mark at its beginning", () => {
    assert.deepEqual(readUtf8(Buffer.from("\ufeffa\ufeff")), { kind: "text", text: "a\ufeff" });
  });
});
