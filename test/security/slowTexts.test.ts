import assert from "node:assert/strict";
import { LineAssembler } from "../../src/contract/log.ts";
import { findPosition } from "../../src/extension/announce/notices.ts";
import { findFileLinks } from "../../src/extension/log/fileLinks.ts";
import { artifactUri } from "../../src/extension/log/runUri.ts";
import { joinAddress } from "../../src/pipeline/file/address.ts";

// With a pattern that tries again at each place, each of these texts would take hours: whoever makes one slow is told by the
// time that a test may take as a whole. `recheck` found the patterns.
const many = 4_000_000;

describe("a text that is made to be slow", () => {
  it("of carriage returns, as a program may print, is made into lines in one go", () => {
    const lines = new LineAssembler();
    const entry = { sequence: 1, at: "2026-03-03T10:00:00Z", stepIndex: 0, stream: "stdout" };
    const text = `${"\r".repeat(many)}x\n${"done\r".repeat(3)}\r\n${"\r".repeat(many)}\n`;
    assert.deepEqual(
      lines.add({ ...entry, text }).map((line) => line.text),
      ["x", "done", ""],
    );
  });

  it("is no place in a file, and no name of one", () => {
    assert.equal(findPosition("pipelines/".repeat(many / 10)), undefined);
    assert.deepEqual(findPosition("pipelines/a.yaml:3:5: wrong"), {
      path: "pipelines/a.yaml",
      line: 3,
      column: 5,
    });
    assert.deepEqual(findFileLinks(`/${"!".repeat(many)}x`), []);
    const { path } = artifactUri("run_1", {
      file: "0-1",
      name: `${"-.".repeat(many)}x`,
      mediaType: "text/plain",
    });
    assert.match(path, /^\/run_1\/0-1\/.{1,64}$/);
  });

  it("of slashes is joined to a path in one go", () => {
    const base = `http://host${"/".repeat(many)}`;
    assert.equal(joinAddress({ base, target: "/a" }), "http://host/a");
    assert.equal(joinAddress({ base: `${base}x`, target: "/a" }), `${base}x/a`);
  });
});
