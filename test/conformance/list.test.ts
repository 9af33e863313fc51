import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { execaNode } from "execa";
import { projectRoot } from "../../scripts/projectRoot.ts";
import { itOn } from "../itOn.ts";
import { differences } from "./differences.ts";
import { readPage } from "./readPage.ts";
import { keptRows, pages, rowsOf, testedIds } from "./rows.ts";

/** The folder of the pages, where they are at hand: they are no part of the project. */
function pagesFolder(): string | undefined {
  const { PIPELINE_RUNS_PAGES: named = "" } = process.env;
  if (named !== "") return resolve(named);
  const beside = join(projectRoot, "../shared");
  return Object.values(pages).every((file) => existsSync(join(beside, file))) ? beside : undefined;
}

describe("the list of rows", () => {
  // Some rows have their tests only where there are signals and a shell.
  itOn("posix", "has one test for each row, and each test of this suite names a row", async () => {
    const titles = await titlesOfSuite();
    const ids = testedIds(keptRows);
    const tested = titles.map((title) => /^\[(.*?)\] ./.exec(title)?.[1]).filter((id) => id !== undefined);
    assert.deepEqual(tested.toSorted(), ids.toSorted());
    for (const title of titles) {
      const id = /^\((.*?)\) [^)]/.exec(title)?.[1];
      assert(
        title.startsWith("[") || ids.some((known) => title.startsWith(`(${known}) `)),
        `${title}: no row (${id})`,
      );
    }
  });

  const folder = pagesFolder();
  if (folder === undefined) {
    console.log("    The pages are not at hand: the list was not compared (PIPELINE_RUNS_PAGES names them).");
  } else {
    it("is that of the pages, row by row and sentence by sentence", async () => {
      assert.deepEqual(differences(keptRows, await rowsOf(folder, keptRows)), []);
    });
  }
});

describe("reading a page", () => {
  it("finds the rows of its tables, the items of its lists, and the sentences of its paragraphs", () => {
    const page = [
      "# 1. A title",
      "One sentence, of `code. With` a stop. Another",
      "over two lines.",
      "",
      "## Part (with more)",
      "- an item. With two sentences",
      "  and a second line",
      "2. a number",
      "",
      "| a | b |",
      "|---|---|",
      "| `x` | 1 |",
      "| y \\| z | |",
      "After it:",
      "",
      "    {code.",
      "     More}",
      "",
    ].join("\n");
    assert.deepEqual(
      readPage(page).map(({ section, kind, texts }) => [section, kind, ...texts]),
      [
        ["A title", "prose", "One sentence, of code. With a stop."],
        ["A title", "prose", "Another over two lines."],
        ["Part (with more)", "prose", "an item. With two sentences and a second line"],
        ["Part (with more)", "prose", "a number"],
        ["Part (with more)", "row", "x", "1"],
        ["Part (with more)", "row", "y \\| z", ""],
        ["Part (with more)", "prose", "After it:"],
        ["Part (with more)", "prose", "{code. More}"],
      ],
    );
  });

  it("names what was changed, added and removed", () => {
    const [a, b, c] = ["a", "b", "c"] as const;
    const before = { page: { Part: { x: a, y: a, "rule 1": a, "remark 1": b }, Gone: { z: a } } };
    const after = { page: { Part: { x: b, w: a, "rule 1": a, "rule 2": c } } };
    assert.deepEqual(differences(before, after), [
      "page, Part: x has changed",
      "page, Part: y is no longer there, or has changed",
      "page, Part: remark 1 is no longer there, or has changed",
      "page, Gone: z is no longer there, or has changed",
      "page, Part: w is new",
      "page, Part: rule 2 is new",
    ]);
    assert.deepEqual(differences(before, before), []);
  });
});

/** The titles of the tests that mocha finds in this suite, none of which is run; without those of this file. */
async function titlesOfSuite(): Promise<string[]> {
  const { stdout } = await execaNode(
    join(projectRoot, "node_modules/mocha/bin/mocha.js"),
    [
      "--dry-run",
      "--reporter",
      "json",
      "--ignore",
      "test/conformance/list.test.ts",
      "test/conformance/**/*.test.ts",
    ],
    { cwd: projectRoot },
  );
  const report: { tests: { title: string }[] } = JSON.parse(stdout.slice(stdout.indexOf("{")));
  return report.tests.map(({ title }) => title);
}
