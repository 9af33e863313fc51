import assert from "node:assert/strict";
import { fileChanges } from "../../../src/service/store/fileChanges.ts";

describe("the differences of pipeline files", () => {
  it("are of the files that differ, those that are new or gone among them", () => {
    const before = { same: "x\n", gone: "old\n", changed: "1\n2\n3\n4\n5\n" };
    const after = { same: "x\n", added: "new\n", changed: "1\n2\n3\n4\nfive\n" };
    assert.deepEqual(fileChanges(before, after), {
      gone: "@@ -1,1 +0,0 @@\n-old",
      changed: "@@ -3,3 +3,3 @@\n 3\n 4\n-5\n+five",
      added: "@@ -0,0 +1,1 @@\n+new",
    });
    assert.deepEqual(fileChanges(before, before), {});
  });

  it("take no paths from where a map has its own", () => {
    assert.deepEqual(fileChanges({}, JSON.parse('{"constructor":"a\\n"}')), {
      constructor: "@@ -0,0 +1,1 @@\n+a",
    });
  });

  it("are given up where too much differs", () => {
    const lines = (word: string) => Array.from({ length: 20_000 }, (_, line) => `${word} ${line}`).join("\n");
    assert.deepEqual(fileChanges({ a: lines("one") }, { a: lines("two") }), {
      a: "more than 1000 lines differ in all",
    });
  });

  it("are compared as long as not too much differs in all of them together", () => {
    const lines = (from: number) => Array.from({ length: 300 }, (_, line) => `${from + line}\n`).join("");
    const paths = Array.from({ length: 20 }, (_, file) => `parts/${file}.yaml`);
    const texts = (from: number) => Object.fromEntries(paths.map((path) => [path, lines(from)]));
    const changes = fileChanges(texts(0), texts(1_000));
    const [first, second, ...others] = paths.map((path) => changes[path]);
    assert.deepEqual(
      [first, second].map((change) => change?.match(/^[+-]/gm)?.length),
      [600, undefined],
    );
    const givenUp = "more than 1000 lines differ in all";
    assert.deepEqual(new Set([second, ...others]), new Set([givenUp]));
  });
});
