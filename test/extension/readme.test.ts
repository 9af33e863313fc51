import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { filesLike, textOf, textsOf } from "./projectTexts.ts";

const root = join(import.meta.dirname, "../..");
const readme = textOf("README.md");
const folder = "test/editor/screen/";

/** The screen tests that the tables of features name. */
const named = [...readme.matchAll(/\| `(\w+\.test\.ts)` › (.+?)\s*\|\n/g)].map(
  ([, file = "", name = ""]) => ({ file, name }),
);

/** The names of the tests of a file. */
function testsOf(file: string): string[] {
  const source = textOf(`${folder}${file}`);
  return [...source.matchAll(/\bit\(\s*("(?:[^"\\]|\\.)*")/g)].map(([, text = '""']) =>
    String(JSON.parse(text)),
  );
}

describe("the README", () => {
  it("names a screen test for each feature, and each is there", () => {
    const rows = [...readme.matchAll(/^\| .* › .*\|$/gm)];
    assert(
      named.length > 50 && named.length === rows.length,
      "every row of a table of features names one test",
    );
    for (const { file, name } of named) {
      assert(existsSync(join(root, folder, file)), `there is no ${file}`);
      assert(testsOf(file).includes(name), `${file} has no test “${name}”`);
    }
  });

  it("names every file of screen tests", () => {
    const files = new Set(named.map(({ file }) => file));
    for (const file of filesLike(`${folder}*.test.ts`)) assert(files.has(file.slice(folder.length)), file);
  });

  it("names every command and every setting", () => {
    const { commands, configuration } = manifest.contributes;
    for (const { command } of commands) {
      assert(readme.includes(`\`${command}\``) || readme.includes(`\`.${command.split(".")[1]}\``), command);
    }
    for (const [id, { default: byDefault }] of Object.entries(configuration.properties)) {
      const row = readme.split("\n").find((line) => line.startsWith(`| \`${id}\``)) ?? "";
      const told = byDefault === "" ? "empty" : `\`${byDefault}\``;
      assert.equal(row.split("|")[2]?.trim(), told, id);
    }
  });

  it("leads nowhere that isn't there", () => {
    for (const [, link = ""] of readme.matchAll(/\]\(([^)#]+?)(?:#[^)]*)?\)|(?:src|srcset)="([^"]+)"/g)) {
      if (link !== "" && !link.includes(":")) assert(existsSync(join(root, link)), link);
    }
    for (const [, file = ""] of readme.matchAll(/(?:src|srcset)="([^"]+)"/g))
      assert(existsSync(join(root, file)), file);
  });
});

describe("the README that the editor shows of the installed extension", () => {
  const shown = textOf("scripts/build/editor/README.md");

  it("has no link and no picture: what they would lead to isn't there", () => {
    assert.doesNotMatch(shown, /\]\(|<img|<picture|https?:/);
  });

  it("names commands and settings as the editor does", () => {
    const titles = textsOf("package.nls.json");
    const known = new Set(Object.values(titles));
    for (const [, title = ""] of shown.matchAll(/\*\*(?:Pipeline Runs: )?([A-Z][\w :]*…)\*\*/g))
      assert(known.has(title), title);
    const settings = new Set(Object.keys(manifest.contributes.configuration.properties));
    for (const [id] of shown.matchAll(/pipelineRuns\.\w+/g)) assert(settings.has(id), id);
  });
});
