import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import manifest from "../../package.json" with { type: "json" };
import { extensionSources, filesLike, stringsOf, textsOf, valuesOf } from "./projectTexts.ts";

const texts = textsOf("package.nls.json");
const { contributes } = manifest;
const contributed = new Set(contributes.commands.map(({ command }) => command));
const allSource = [...extensionSources.values()].join("\n");

/** The value of a string literal, of which the inside is given. */
function literalValue(literal: string): string {
  return String(JSON.parse(`"${literal.replaceAll(/\\'/g, "'").replaceAll(/(?<!\\)"/g, '\\"')}"`));
}

/** All that a pattern with one group finds in the extension's sources. */
function inSources(pattern: RegExp): string[] {
  return [...extensionSources.values()].flatMap((text) =>
    [...text.matchAll(pattern)].map(([, found = ""]) => found),
  );
}

/** The `{0}`, `{1}`… of a text, sorted, each once. */
function placeholdersOf(text: string): string[] {
  return [...new Set([...text.matchAll(/\{(\d+)\}/g)].map(([found]) => found))].sort();
}

describe("manifest and code", () => {
  it("agree on the settings: each is read, none is read that isn't there, and defaults are the same", () => {
    const { properties } = contributes.configuration;
    const declared = Object.keys(properties).map((id) => id.replace(/^pipelineRuns\./, ""));
    const read = inSources(/\.get(?:<[^>()]*>)?\(\s*"(\w+)"/g);
    const named = inSources(/"pipelineRuns\.(\w+)"/g);
    for (const name of declared) assert(read.includes(name), `nothing reads pipelineRuns.${name}`);
    for (const name of read) assert(declared.includes(name), `pipelineRuns.${name} is read and not declared`);
    for (const [, name = "", fallback = ""] of allSource.matchAll(
      /\.get(?:<[^>()]*>)?\(\s*"(\w+)",\s*([^)]+?)\)/g,
    )) {
      const { default: byDefault } =
        Object.entries(properties).find(([id]) => id.endsWith(`.${name}`))?.[1] ?? {};
      assert.equal(fallback, JSON.stringify(byDefault), `the default of pipelineRuns.${name}`);
    }
    const known = new Set([...declared, ...[...contributed].map((id) => id.replace(/^pipelineRuns\./, ""))]);
    const views = Object.values(contributes.views).flatMap((list) => list.map(({ id }) => id));
    const contexts = inSources(/readonly "pipelineRuns\.(\w+)"/g);
    for (const name of named) {
      assert(
        known.has(name) || views.includes(`pipelineRuns.${name}`) || contexts.includes(name),
        `pipelineRuns.${name} is named and is no command, setting, view or context`,
      );
    }
  });

  it("give each setting a default that its own schema accepts, so that nobody is shown an error for it", () => {
    const ajv = addFormats.default(new Ajv({ strict: false }));
    for (const [id, setting] of Object.entries(contributes.configuration.properties)) {
      assert(ajv.validate(setting, setting.default), `${id}: ${ajv.errorsText()}`);
    }
  });

  it("describe each setting, and each value of one", () => {
    for (const [id, setting] of Object.entries<Readonly<Record<string, unknown>>>(
      contributes.configuration.properties,
    )) {
      const described = setting["markdownDescription"] ?? setting["description"];
      assert(typeof described === "string", id);
      const values = setting["enum"];
      if (!Array.isArray(values)) continue;
      const descriptions = setting["markdownEnumDescriptions"] ?? setting["enumDescriptions"];
      assert(Array.isArray(descriptions) && descriptions.length === values.length, `the values of ${id}`);
      for (const value of values) assert(allSource.includes(JSON.stringify(value)), `${id}: ${value}`);
    }
  });

  it("agree on the commands that menus, keys, welcomes and walkthroughs use", () => {
    const used = [
      ...valuesOf("menus").flatMap((menus) => valuesOf("command", menus)),
      ...valuesOf("keybindings").flatMap((keys) => valuesOf("command", keys)),
      ...Object.values(texts).flatMap((text) =>
        [...text.matchAll(/\(command:([\w.]+)/g)].map(([, id]) => id),
      ),
    ].map(String);
    for (const id of used.filter((id) => id.startsWith("pipelineRuns."))) assert(contributed.has(id), id);
    const executed = inSources(/"(pipelineRuns\.\w+)"/g).filter((id) => contributed.has(id));
    assert(executed.length > 0);
  });

  it("agree on what `when` clauses look at: each key of ours is set, with each value, and each set one is looked at", () => {
    const clauses = [...stringsOf("when"), ...stringsOf("enablement")].join("\n");
    const declared = new Set(inSources(/readonly "(pipelineRuns\.\w+)"/g));
    const views = new Set(Object.values(contributes.views).flatMap((list) => list.map(({ id }) => id)));
    for (const [, key = ""] of clauses.matchAll(/(?<![=!]= )\b(pipelineRuns\.\w+)/g)) {
      assert(declared.has(key) || views.has(key), `nothing sets ${key}`);
    }
    for (const key of declared) assert(clauses.includes(key), `no clause looks at ${key}`);
    for (const [, view = ""] of clauses.matchAll(/(?:view|focusedView) == ([\w.]+)/g)) {
      assert(views.has(view), `there is no view ${view}`);
    }
    for (const [, value = ""] of clauses.matchAll(/[=!]= '([^']+)'/g)) {
      assert(allSource.includes(`"${value}"`), `no code has the value ${value}`);
    }
    for (const [, tokens = ""] of clauses.matchAll(/viewItem =~ \/\\b\(?([\w|-]+)\)?\\b\//g)) {
      for (const token of tokens.split("|")) assert(allSource.includes(`"${token}"`), `no row is ${token}`);
    }
  });

  it("agree on the views: the code fills each", () => {
    for (const { id } of Object.values(contributes.views).flat()) assert(allSource.includes(`"${id}"`), id);
  });

  it("name only icons that the editor has", () => {
    const known = new Set(
      [
        ...readFileSync(
          fileURLToPath(import.meta.resolve("@vscode/codicons/dist/codicon.css")),
          "utf8",
        ).matchAll(/\.codicon-([\w-]+):before/g),
      ].map(([, name]) => name),
    );
    assert(known.size > 400);
    const named = [
      ...[...JSON.stringify(manifest).matchAll(/\$\(([\w-]+)\)/g)].map(([, name = ""]) => name),
      ...Object.values(texts).flatMap((text) =>
        [...text.matchAll(/\$\(([\w-]+)/g)].map(([, name = ""]) => name),
      ),
      ...inSources(/\$\(([a-z][a-z-]*)(?:~spin)?\)/g),
      ...inSources(/ThemeIcon\(\s*"([\w-]+)(?:~spin)?"/g),
      ...inSources(/icon: "([a-z][\w-]*)(?:~spin)?"/g),
    ];
    assert(named.length > 0);
    for (const name of named) assert(known.has(name), `there is no icon ${name}`);
  });

  it("have each text in every language, with the same placeholders, links and commands", () => {
    for (const file of filesLike("package.nls.*.json")) {
      const others = textsOf(file);
      assert.deepEqual(Object.keys(others).sort(), Object.keys(texts).sort(), file);
      for (const [key, text] of Object.entries(texts)) {
        const other = others[key] ?? "";
        const links = (of: string) =>
          [...of.matchAll(/\((?:command|https?):[^)]*\)|`[^`]*`/g)].map(([found]) => found).sort();
        assert.deepEqual(links(other), links(text), `${file}: ${key}`);
        assert.notEqual(other.trim(), "", `${file}: ${key}`);
      }
    }
  });

  it("say what goes wrong in the person's language: each problem's text is one that can be translated", () => {
    for (const [file, source] of extensionSources) {
      const untold = [
        ...source.matchAll(/new PipelineError\(\s*"[\w-]+",\s*(["'`][^\n]*)/g),
        ...source.matchAll(/\b((?:next|title): ["'`][A-Z][^\n]*)/g),
      ].map(([, text]) => text);
      assert.deepEqual(untold, [], file);
    }
  });

  it("have each text of the code in every language, and no text that the code has no more", () => {
    const translated = new Set<string>();
    for (const [file, source] of extensionSources) {
      const calls = [...source.matchAll(/(?:(?<![\w.])t|l10n\.t)\(\s*(.)/g)].length;
      const literal = [
        ...source.matchAll(/(?:(?<![\w.])t|l10n\.t)\(\s*(["'])((?:(?!\1)[^\\]|\\.)*)\1\s*[,)]/g),
      ];
      assert.equal(
        literal.length,
        calls,
        `${file}: a text is one string literal, so that it can be collected`,
      );
      for (const match of literal) {
        const text = literalValue(match[2] ?? "");
        translated.add(text);
        const given = countArguments(source.slice(match.index)) - 1;
        assert.equal(placeholdersOf(text).length, given, `${file}: what "${text}" is given`);
      }
    }
    assert(translated.size > 0);
    for (const file of filesLike("l10n/bundle.l10n.*.json")) {
      const others = textsOf(file);
      assert.deepEqual(Object.keys(others).sort(), [...translated].sort(), file);
      for (const [text, other] of Object.entries(others)) {
        assert.deepEqual(placeholdersOf(other), placeholdersOf(text), `${file}: ${text}`);
      }
    }
  });
});

/** How many arguments the call has with which a source begins. */
function countArguments(source: string): number {
  const pieces = source.match(/(["'])(?:(?!\1)[^\\]|\\.)*\1|`(?:[^`\\]|\\.)*`|[()[\]{},]|\w+/g) ?? [];
  let depth = 0;
  let last = "";
  let count = 1;
  for (const piece of pieces) {
    if (/^[([{]$/.test(piece)) depth += 1;
    else if (/^[)\]}]$/.test(piece)) depth -= 1;
    else if (depth === 1 && piece === ",") count += 1;
    // A comma before the end is followed by nothing.
    if (depth === 0 && piece === ")") return last === "," ? count - 1 : count;
    last = piece;
  }
  return count;
}
