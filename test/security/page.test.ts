import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { projectRoot } from "../../scripts/projectRoot.ts";
import { filesLike, textOf } from "../extension/projectTexts.ts";

const page = textOf("docs/security.md");
const named = [...page.matchAll(/\| `([\w/]+\.test\.ts)` › (.+?)\s*\|\n/g)].map(
  ([, file = "", name = ""]) => ({
    file: `test/${file}`,
    name,
  }),
);

/** The titles of a file's tests; of one that is made of parts, the part before the first that changes. */
function titlesIn(file: string): string[] {
  const source = textOf(file);
  return [...source.matchAll(/\bit(?:On)?\(\s*(?:"\w+",\s*)?(?:("(?:[^"\\]|\\.)*")|`([^`$]*)([^`]*)`)/g)].map(
    ([, whole, beginning = ""]) => (whole === undefined ? beginning : String(JSON.parse(whole))),
  );
}

describe("the page on what is defended", () => {
  it("names a test for each thing that holds, and each is there", () => {
    const rows = [...page.matchAll(/^\|.* › .*\|$/gm)];
    assert.ok(named.length > 50);
    assert.equal(named.length, rows.length, "every row names one test");
    for (const { file, name } of named) {
      assert.ok(existsSync(join(projectRoot, file)), `there is no ${file}`);
      const titles = titlesIn(file);
      assert.ok(
        titles.some((title) => title === name || title.startsWith(`${name}: `)),
        `${file} has no test “${name}”`,
      );
    }
  });

  it("names every file of tests that plant keys or attack", () => {
    const files = new Set(named.map(({ file }) => file));
    for (const file of filesLike("test/security/*.test.ts")) {
      if (file !== "test/security/page.test.ts") assert.ok(files.has(file), file);
    }
  });

  it("leads nowhere that isn't there, as does SECURITY.md, and each leads to the other", () => {
    for (const from of ["docs/security.md", "SECURITY.md"]) {
      const links = [...textOf(from).matchAll(/\]\(([^)#:]+?)\)/g)].map(([, link = ""]) => link);
      assert.ok(links.length > 0, from);
      for (const link of links) assert.ok(existsSync(join(projectRoot, dirname(from), link)), link);
    }
    assert.ok(page.includes("(../SECURITY.md)") && textOf("SECURITY.md").includes("(docs/security.md)"));
    assert.ok(textOf("README.md").includes("(SECURITY.md)"), "the README leads to it");
  });
});
