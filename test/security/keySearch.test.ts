import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { TemporaryFolder } from "../temporaryFolder.ts";
import { KeySearch } from "./keySearch.ts";

const key = `plk/${randomBytes(30).toString("base64url")}+end`;
const search = new KeySearch({ key });
const formOf = (text: string | Buffer) => {
  const around = Buffer.concat([randomBytes(5000), Buffer.from(text), randomBytes(5000)]);
  return search.in(around, "noise").map(({ form }) => form);
};

describe("the search for planted keys", () => {
  it("finds one that was planted in a file, and says where", async () => {
    await using folder = await TemporaryFolder.make();
    await mkdir(join(folder.path, "deep/er"), { recursive: true });
    await writeFile(join(folder.path, "deep/er/service.log"), `{"time":1,"message":"${key}"}\n`);
    await writeFile(join(folder.path, "clean.log"), "nothing\n");
    const { finds, files } = await search.inFolder(folder.path);
    assert.deepEqual(finds, [{ name: "key", form: "plain", place: "deep/er/service.log" }]);
    assert.deepEqual(files.toSorted(), ["clean.log", "deep/er/service.log"]);
    assert.deepEqual((await search.inFolder(folder.path, (file) => file.startsWith("deep/"))).finds, []);
  });

  it("finds one in a file's name", async () => {
    await using folder = await TemporaryFolder.make();
    await writeFile(join(folder.path, key.slice(5, 30)), "");
    assert.equal((await search.inFolder(folder.path)).finds.length, 1);
  });

  it("finds any twelve characters of it in a row, in each form, wherever they begin", () => {
    for (let at = 0; at + 12 <= key.length; at++) {
      const piece = key.slice(at, at + 12);
      assert.deepEqual(formOf(piece), ["plain"]);
      assert.deepEqual(formOf([...piece].reverse().join("")), ["backwards"]);
      assert.deepEqual(formOf(Buffer.from(piece).toString("hex")), ["hex"]);
      assert.deepEqual(formOf(Buffer.from(piece, "utf16le")), ["UTF-16"]);
    }
  });

  it("finds it in Base64 and percent-encoded, alone and inside longer texts", () => {
    for (const before of ["", "a", "ab", "abc", "user:"]) {
      for (const encoding of ["base64", "base64url"] as const) {
        assert.ok(formOf(Buffer.from(`${before}${key}`).toString(encoding)).includes("Base64"), before);
      }
    }
    for (const piece of [key.slice(0, 12), key.slice(-12)]) {
      assert.deepEqual(formOf(encodeURIComponent(piece)), ["percent-encoded"]);
    }
  });

  it("finds nothing in what holds less of it, or none", () => {
    assert.deepEqual(formOf(`${key.slice(0, 11)} ${key.slice(20, 31)}`), []);
    assert.deepEqual(search.in(randomBytes(1_000_000), "noise"), []);
  });
});
