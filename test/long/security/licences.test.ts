import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import * as z from "zod/mini";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { filesLike, textOf } from "../../extension/projectTexts.ts";
import { contentsOfTool, contentsOfVsix } from "../../security/shipped.ts";

const name = "THIRD-PARTY-NOTICES.txt";
const packageSchema = z.object({
  name: z.string(),
  version: z.string(),
  dependencies: z.optional(z.record(z.string(), z.string())),
  optionalDependencies: z.optional(z.record(z.string(), z.string())),
});

/** The packages that the notices list, by name, with the licence each is under. */
function listed(): ReadonlyMap<string, string> {
  const [, list = ""] = textOf(`dist/${name}`).split("\n\n");
  return new Map(
    list.split("\n").map((line) => {
      const [, named = "", licence = ""] = /^(\S+) \S+ \((.+)\)$/.exec(line) ?? assert.fail(line);
      return [named, licence];
    }),
  );
}

/** What the sources import, and what that depends on: more than is bundled, never less. */
function reachable(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const add = (named: string, from: string) => {
    const folder = folderOf(named, from);
    if (folder === undefined || found.has(named)) return;
    found.set(named, folder);
    const { dependencies, optionalDependencies } = manifestOf(folder);
    for (const next of Object.keys({ ...dependencies, ...optionalDependencies })) add(next, folder);
  };
  for (const file of filesLike("src/**/*.ts")) {
    for (const [, named = ""] of textOf(file).matchAll(
      /(?:from|import\() ?"((?:@[\w.-]+\/)?[\w-][\w.-]*)(?:\/[^"]*)?"/g,
    )) {
      if (named !== "vscode") add(named, projectRoot);
    }
  }
  return found;
}

function folderOf(named: string, from: string): string | undefined {
  for (let at = from; ; at = dirname(at)) {
    const folder = join(at, "node_modules", named);
    if (statSync(join(folder, "package.json"), { throwIfNoEntry: false }) !== undefined) return folder;
    if (dirname(at) === at) return undefined;
  }
}

function manifestOf(folder: string) {
  return packageSchema.parse(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")));
}

/** Sentences of a package's programs, which survive being made small; a single word may be one of Node's names. */
function tellingTexts(folder: string): Set<string> {
  const texts = new Set<string>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/\.[cm]?js$/.test(entry.name)) continue;
    if (/node_modules|test|bench/.test(entry.parentPath.slice(folder.length))) continue;
    const source = readFileSync(join(entry.parentPath, entry.name), "utf8");
    for (const [, text = ""] of source.matchAll(/["'`]([A-Za-z][\w,.:-]* [\w ,.:-]{8,80})["'`]/g))
      texts.add(text);
  }
  return texts;
}

describe("the licences of what is bundled", () => {
  it("has in its notices every package whose texts are in the built programs", () => {
    const built = filesLike("dist/**/*.{js,cjs}")
      // It has a list of its own, see below.
      .filter((file) => !file.startsWith("dist/vendor/playwright-core/"))
      .map(textOf)
      .join("\n");
    const packages = reachable();
    const texts = new Map([...packages].map(([named, folder]) => [named, tellingTexts(folder)]));
    const owners = new Map<string, number>();
    for (const each of texts.values()) for (const text of each) owners.set(text, (owners.get(text) ?? 0) + 1);
    const seen = [...texts].filter(([, each]) =>
      [...each].some((text) => owners.get(text) === 1 && built.includes(text)),
    );
    assert.ok(seen.length > 15, `only ${seen.map(([named]) => named)} are recognised`);
    const notices = listed();
    for (const [named] of seen) assert.ok(notices.has(named), `${named} is bundled without a notice`);
  });

  it("lists nothing that the sources don't lead to, and each with its text", () => {
    const packages = reachable();
    const text = textOf(`dist/${name}`);
    const notices = listed();
    assert.ok(notices.size > 30);
    for (const named of notices.keys()) {
      const folder = packages.get(named) ?? assert.fail(`${named} is in no import`);
      const { version } = manifestOf(folder);
      const [, section = ""] = text.split(
        `\n${named} ${version} (${notices.get(named)})\n${"=".repeat(80)}\n`,
      );
      assert.match(
        section.split("=".repeat(80))[0] ?? "",
        /permission|licensed under|Apache License/i,
        named,
      );
    }
  });

  it("bundles only what is under a licence that asks for no more than its text", () => {
    const allowed = ["0BSD", "Apache-2.0", "BlueOak-1.0.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"];
    for (const [named, licence] of listed()) assert.ok(allowed.includes(licence), `${named}: ${licence}`);
  });

  it("has the texts of what stands inside the browser's driver, each of a licence of that kind", () => {
    const folder = "dist/vendor/playwright-core/";
    const texts = textOf(`${folder}lib/utilsBundle.js.LICENSE`);
    const named = [...texts.matchAll(/^- (\S+@[\d.]+) \(/gm)].map(([, each = ""]) => each);
    assert.ok(named.length > 30);
    for (const each of named) {
      const [, section = ""] = texts.split(`%% ${each} NOTICES AND INFORMATION BEGIN HERE`);
      const own = section.split("%% ")[0] ?? "";
      assert.match(
        own,
        /permission is hereby granted|permission to use, copy|redistribution and use|apache license|blue ?oak|declared licenses: MIT\)/i,
        each,
      );
      assert.doesNotMatch(own, /general public license|mozilla public|sspl|commons clause/i, each);
    }
    for (const file of ["LICENSE", "NOTICE", "ThirdPartyNotices.txt", "lib/webp_codec.LICENSE"]) {
      assert.ok(textOf(`${folder}${file}`).length > 100, file);
    }
  });

  it("goes with every package that people install", async () => {
    const vsix = await contentsOfVsix();
    assert.ok(
      vsix.has(`extension/dist/${name}`) && vsix.has("extension/LICENSE.txt"),
      [...vsix.keys()].join(),
    );
    const npm = await contentsOfTool();
    for (const file of [`dist/${name}`, "LICENSE"]) assert.ok(npm.has(`package/${file}`), file);
    const text = textOf(`dist/${name}`);
    for (const held of [vsix.get(`extension/dist/${name}`), npm.get(`package/dist/${name}`)]) {
      assert.equal(held?.toString("utf8"), text);
    }
  });
});
