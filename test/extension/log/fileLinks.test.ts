import assert from "node:assert/strict";
import fc from "fast-check";
import { findFileLinks } from "../../../src/extension/log/fileLinks.ts";

const found = (text: string) =>
  findFileLinks(text).map(({ start, end, path, line, column }) => [
    text.slice(start, end),
    path,
    line,
    column,
  ]);

describe("the places that a line of a log names", () => {
  it("are paths with a line, and a column where there is one", () => {
    assert.deepEqual(found("pipelines/x.yaml:3:5: no such key"), [
      ["pipelines/x.yaml:3:5", "pipelines/x.yaml", 3, 5],
    ]);
    assert.deepEqual(found("see src/a.ts:10:3, b.py:7 and (lib/c.rb:1)."), [
      ["src/a.ts:10:3", "src/a.ts", 10, 3],
      ["b.py:7", "b.py", 7, 1],
      ["lib/c.rb:1", "lib/c.rb", 1, 1],
    ]);
    assert.deepEqual(found("src/app.ts(12,34): error TS2322"), [["src/app.ts(12,34)", "src/app.ts", 12, 34]]);
  });

  it("are found in stack traces, as absolute paths, addresses of files and paths of Windows", () => {
    assert.deepEqual(found("    at run (/home/me/shop/src/a.js:10:3)"), [
      ["/home/me/shop/src/a.js:10:3", "/home/me/shop/src/a.js", 10, 3],
    ]);
    assert.deepEqual(found("at file:///home/me/shop/a.mjs:1:2"), [
      ["/home/me/shop/a.mjs:1:2", "/home/me/shop/a.mjs", 1, 2],
    ]);
    assert.deepEqual(found(String.raw`C:\shop\src\a.cs:4:2`), [
      [String.raw`C:\shop\src\a.cs:4:2`, String.raw`C:\shop\src\a.cs`, 4, 2],
    ]);
  });

  it("are absolute paths too that name no line", () => {
    assert.deepEqual(found("wrote '/home/me/shop/out/report.xml' and /home/me/shop/b.txt."), [
      ["/home/me/shop/out/report.xml", "/home/me/shop/out/report.xml", 1, 1],
      ["/home/me/shop/b.txt", "/home/me/shop/b.txt", 1, 1],
    ]);
    assert.deepEqual(found("read out/report.xml, 1/2 of it, and https://example.com/a.txt"), []);
  });

  it("are not times, hosts with a port, versions or keys with a number", () => {
    for (const text of [
      "12:30:45",
      "at 10:03",
      "lamp:3",
      "1.2:3",
      "http://127.0.0.1:8080/x",
      "//host:80",
      ":3:5",
    ]) {
      assert.deepEqual(found(text), [], text);
    }
  });

  it("cost no more than the line is long, whatever is in it", () => {
    assert.deepEqual(found(`${"a/".repeat(5_000)}b.ts:1:1`), []);
    assert.equal(found("a.ts:1 ".repeat(500)).length, 20);
    const piece = fc.constantFrom(
      "a",
      "/",
      "\\",
      ".",
      ":",
      "1",
      "(",
      ")",
      ",",
      " ",
      "file://",
      "C:",
      "é",
      "👋",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const text = pieces.join("");
        let last = 0;
        for (const { start, end, path, line, column } of findFileLinks(text)) {
          assert(start >= last && start < end && end <= text.length);
          assert(text.slice(start, end).startsWith(path));
          assert(Number.isInteger(line) && Number.isInteger(column));
          last = end;
        }
      }),
    );
  });
});
