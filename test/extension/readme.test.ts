import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { filesLike, textOf, textsOf } from "./projectTexts.ts";

const root = join(import.meta.dirname, "../..");
const readme = textOf("README.md");

describe("the README", () => {
  it("names every setting with its default", () => {
    const { configuration } = manifest.contributes;
    for (const [id, { default: byDefault }] of Object.entries(configuration.properties)) {
      const row = readme.split("\n").find((line) => line.startsWith(`| \`${id}\``)) ?? "";
      const told = byDefault === "" ? "empty" : `\`${byDefault}\``;
      assert.equal(row.split("|")[2]?.trim(), told, id);
    }
  });
});

describe("the page of the editor's commands", () => {
  it("names every command by its title and its id", () => {
    const page = textOf("docs/editor/commands.md");
    const titles = textsOf("package.nls.json");
    for (const { command, title } of manifest.contributes.commands) {
      const [, id = ""] = command.split(".");
      const row = `| ${titles[title.replaceAll("%", "")]} \``;
      const ids = [`${row}${command}\` `, `${row}.${id}\` `];
      assert(
        ids.some((start) => page.includes(start)),
        `${command}: no row starts with ${row}`,
      );
    }
  });
});

describe("the documentation", () => {
  it("leads nowhere that isn't there, neither by links nor by pictures", () => {
    const pages = filesLike("{*.md,docs/**/*.md}");
    const links = pages.flatMap((page) =>
      [...textOf(page).matchAll(/\]\(([^)#:]+?)(?:#[^)]*)?\)|(?:src|srcset)="([^":]+)"/g)].map(
        ([, link, picture]) => join(dirname(page), link ?? picture ?? ""),
      ),
    );
    assert(links.length > 50);
    for (const link of links) assert(existsSync(join(root, link)), link);
  });

  it("says in the README and on the page of what is defended how to report a weakness", () => {
    for (const page of ["README.md", "docs/security.md"])
      assert.match(textOf(page), /\((?:\.\.\/)?SECURITY\.md\)/);
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
