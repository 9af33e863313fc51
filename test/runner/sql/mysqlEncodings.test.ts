import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { projectRoot } from "../../../scripts/projectRoot.ts";

interface Encodings {
  readonly getDecoder: (encoding: string) => { write(bytes: Buffer): string; end(): undefined };
  readonly getEncoder: (encoding: string) => { write(text: string): Buffer; end(): undefined };
}

describe("what stands in the bundle for MySQL's tables of characters", () => {
  let encodings: Encodings;
  before(async () => {
    encodings = await import(pathToFileURL(join(projectRoot, "scripts/build/mysqlEncodings.mjs")).href);
  });

  it("reads the character sets that Node knows, and plain letters in all others", () => {
    for (const [encoding, hex, text] of [
      ["cesu8", "c3a4e28883", "ä∃"],
      ["koi8r", "d1", "я"],
      ["koi8u", "a4", "є"],
      ["cp1251", "ff", "я"],
      ["sjis", "82a0", "あ"],
      ["cp932", "82a0", "あ"],
      ["eucjp", "a4a2", "あ"],
      ["euckr", "b0a1", "가"],
      ["gbk", "c4e3", "你"],
      ["latin2", "b1", "ą"],
      ["latin7", "e0", "ą"],
      ["tis620", "a1", "ก"],
      ["utf16", "4f60", "你"],
      ["swe7", "6c616d70", "lamp"],
    ] as const) {
      const decoder = encodings.getDecoder(encoding);
      assert.equal(decoder.write(Buffer.from(hex, "hex")) + (decoder.end() ?? ""), text, encoding);
    }
    assert.throws(() => encodings.getDecoder("swe7").write(Buffer.of(0xe4)), RangeError);
  });

  it("sends what is the same in UTF-8, and refuses everything else", () => {
    assert.equal(String(encodings.getEncoder("cesu8").write("ä")), "ä");
    assert.equal(String(encodings.getEncoder("koi8r").write("select 1")), "select 1");
    for (const [encoding, text] of [
      ["koi8r", "я"],
      ["utf16", "a"],
      ["utf32", "a"],
    ] as const) {
      assert.throws(
        () => encodings.getEncoder(encoding).write(text),
        /leave the session's character set at utf8mb4/,
      );
    }
  });
});
