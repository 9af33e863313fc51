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
  const pages = filesLike("{*.md,docs/**/*.md}");

  it("leads nowhere that isn't there, neither by links nor by pictures", () => {
    const links = pages.flatMap((page) =>
      [...textOf(page).matchAll(/\]\(([^)#:]+?)(?:#[^)]*)?\)|(?:src|srcset)="([^":]+)"/g)].map(
        ([, link, picture]) => join(dirname(page), link ?? picture ?? ""),
      ),
    );
    assert(links.length > 50);
    for (const link of links) assert(existsSync(join(root, link)), link);
  });

  it("has each heading that a link leads to", () => {
    for (const page of pages) {
      for (const [link, file = "", heading] of textOf(page).matchAll(/\]\(([^)#:]*)#([^)]+)\)/g)) {
        const target = file === "" ? page : join(dirname(page), file);
        const headings = [...textOf(target).matchAll(/^#+ (.+)$/gm)].map(([, text = ""]) =>
          text
            .toLowerCase()
            .replaceAll(/[^\w\- ]/g, "")
            .replaceAll(" ", "-"),
        );
        assert(headings.includes(heading ?? ""), `${page}: ${link}`);
      }
    }
  });

  it("names only functions, files and tests that are there", () => {
    const architecture = textOf("docs/architecture.md").replaceAll(/\s+/g, " ");
    const named = [...architecture.matchAll(/`(\w+)` in `([\w/.-]+\.ts)`/g)];
    assert(named.length > 20);
    for (const [words, name = "", file = ""] of named) {
      const defined = new RegExp(
        `(?:function|class|const|type|interface) ${name}\\b|^ +(?:async )?${name}[(<]`,
        "m",
      );
      assert.match(textOf(join("src", file)), defined, words);
    }
    const folders = /`((?:cli|client|contract|extension|pipeline|service)\/[\w/.-]*)`/g;
    for (const [, path = ""] of architecture.matchAll(folders))
      assert(existsSync(join(root, "src", path)), path);
    for (const [, test = ""] of textOf("docs/security.md").matchAll(/`([\w/]+\.test\.ts)`/g))
      assert(existsSync(join(root, "test", test)), test);
    for (const page of pages.filter((name) => name !== "CHANGELOG.md"))
      for (const [path] of textOf(page).matchAll(/(?<![\w/.-])(?:test|bench|scripts)\/[\w/.-]+\.ts\b/g))
        assert(existsSync(join(root, path)), `${page}: ${path}`);
  });

  it("has each section and each rule of the contract that a comment or a test cites", () => {
    const [, ...sections] = `\n${textOf("docs/contract.md")}`.split(/\n#+ /);
    const rules = new Map(
      sections.map((section) => [section.split("\n", 1)[0], section.match(/^\d+\. /gm)?.length ?? 0]),
    );
    const cited = filesLike("{src/**/*.ts,test/long/conformance/*.ts}").flatMap((file) => {
      const text = textOf(file).replaceAll(/\n *\* /g, " ");
      const inTitle = /"contract, ([^":]+): (?:rule (\d+))?/g;
      return [...text.matchAll(/\(contract: "([^"]+)"/g), ...text.matchAll(inTitle)].map(
        ([, section = "", rule = "0"]) => ({ file, section, rule: Number(rule) }),
      );
    });
    assert(cited.length > 100);
    for (const { file, section, rule } of cited)
      assert((rules.get(section) ?? -1) >= rule, `${file}: ${section}, rule ${rule}`);
    assert.doesNotMatch(filesLike("src/**/*.ts").map(textOf).join(), /\(service description/);
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
