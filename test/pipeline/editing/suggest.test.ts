// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { parseDocument } from "yaml";
import { largestFile } from "../../../src/contract/limits.ts";
import { suggest } from "../../../src/pipeline/editing/suggest.ts";
import type { Suggestion } from "../../../src/pipeline/editing/suggestion.ts";
import { parsePipeline } from "../../../src/pipeline/parsePipeline.ts";
import { shownPipelines } from "../shownPipelines.ts";

const folder = join(import.meta.dirname, "../../../samples/pipelines");
const samples = [
  ...readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8")),
  ...shownPipelines().flatMap(({ pipelines }) => pipelines),
];
const resources = `resources:
  shop: { type: http, base-url: "http://127.0.0.1:1" }
  db: { type: sql, url: "sqlite::memory:" }
  web: { type: browser }
  sh: { type: cli }
`;
/** What every step can have. */
const around = ["id", "if", "on-failure", "each", "retry", "mask"];

describe("what is suggested in a pipeline file", () => {
  const cases: readonly (readonly [where: string, file: string, ...labels: string[]])[] = [
    [
      "in a list of steps, a step for each resource",
      `${resources}steps:\n  |`,
      "step with shop",
      "step with db",
      "step with web",
      "step with sh",
      "name",
      "use",
      "include",
      ...around,
    ],
    [
      "behind the dash of a step",
      `${resources}steps:\n  - |`,
      "step with shop",
      "step with db",
      "step with web",
      "step with sh",
      "name",
      "use",
      "include",
      ...around,
    ],
    [
      "where the next step would begin",
      `${resources}steps:\n  - use: sh\n    run: x\n  |`,
      "step with shop",
      "step with db",
      "step with web",
      "step with sh",
      "name",
      "use",
      "include",
      ...around,
    ],
    [
      "in an sql step",
      `${resources}steps:\n  - use: db\n    |`,
      "name",
      "query",
      "params",
      "statements",
      "file",
      "timeout",
      "expect",
      ...around,
    ],
    [
      "in an sql step that has a query",
      `${resources}steps:\n  - use: db\n    query: x\n    |`,
      "name",
      "params",
      "timeout",
      "expect",
      ...around,
    ],
    [
      "in a get request, which has no body",
      `${resources}steps:\n  - { use: shop, get: /, name: x, | }`,
      "query",
      "headers",
      "auth",
      "cookies",
      "redirects",
      "openapi",
      "keep",
      "timeout",
      "expect",
      ...around,
    ],
    [
      "in a step whose resource is said below",
      `${resources}steps:\n  - r|\n    use: sh`,
      "name",
      "run",
      "shell",
      "cwd",
      "env",
      "stdin",
      "timeout",
      "background",
      "ready",
      "keep",
      "expect",
      ...around,
    ],
    ["in a step whose resource there isn't", `${resources}steps:\n  - use: no\n    |`, "name", ...around],
    ["behind `use`", `${resources}steps:\n  - use: |`, "shop", "db", "web", "sh"],
    [
      "behind `use` in a flow map that is still open",
      `${resources}steps:\n  - { use: s|`,
      "shop",
      "db",
      "web",
      "sh",
    ],
    [
      "in what is expected of a program",
      `${resources}steps:\n  - use: sh\n    expect:\n      |`,
      "exit-code",
      "output",
      "stdout",
      "stderr",
      "that",
    ],
    [
      "behind `expect` on its line",
      `${resources}steps:\n  - use: sh\n    expect: |`,
      "exit-code",
      "output",
      "stdout",
      "stderr",
      "that",
    ],
    [
      "in an action",
      `${resources}steps:\n  - use: web\n    actions:\n      - |`,
      "click",
      "fill",
      "press",
      "select",
      "check",
      "uncheck",
      "wait-for",
      "evaluate",
      "upload",
      "download",
      "dialog",
      "tab",
    ],
    [
      "in an element that is said in one way already",
      `${resources}steps:\n  - { use: web, actions: [{ fill: { label: a, | } }] }`,
      "frame",
      "with",
    ],
    [
      "beside a role",
      `${resources}steps:\n  - { use: web, actions: [{ click: { role: button, | } }] }`,
      "name",
      "text",
      "frame",
    ],
    [
      "of what a step reads of the page",
      `${resources}steps:\n  - { use: web, goto: /, read: { total: { css: b } }, expect: { that: this.| } }`,
      "total",
      "url",
      "title",
      "text",
      "time",
      "attempts",
    ],
    ["behind a resource's `type`", "resources: { a: { type: | } }", "http", "sql", "browser", "cli"],
    ["in a resource without a type", "resources:\n  a:\n    |", "type"],
    ["in a resource", "resources:\n  a:\n    type: cli\n    |", "shell", "cwd", "env", "timeout"],
    [
      "among the resources",
      "resources:\n  |",
      "http resource",
      "sql resource",
      "browser resource",
      "cli resource",
    ],
    [
      "at the top",
      `${resources}|`,
      "name",
      "tags",
      "time-limit",
      "env-file",
      "unmasked",
      "finally-limit",
      "inputs",
      "steps",
      "finally",
      "outputs",
      "$schema",
    ],
    ["in a retry", `${resources}finally:\n  - use: sh\n    retry:\n      |`, "for", "times", "every"],
    ["behind `on-failure`", `${resources}steps:\n  - use: sh\n    on-failure: |`, "continue"],
    [
      "in a part",
      `${resources}steps:\n  - include: a.yaml\n    |`,
      "name",
      "inputs",
      "id",
      "if",
      "on-failure",
    ],
    ["in an input", "inputs:\n  region:\n    |", "type", "options", "default", "description"],
    ["behind an input's `type`", "inputs: { region: { type: | } }", "text", "number", "boolean"],
    ["behind `use` in the cleanup", `${resources}finally:\n  - use: |`, "shop", "db", "web", "sh"],
    ["behind `time-limit`", "time-limit: |", "30s", "60s", "5m", "15m", "1h"],
    ["behind `env-file`", "env-file: |", ".env"],
    ["in a comment", "# |"],
    ["in lines for the shell", `${resources}steps:\n  - use: sh\n    run: |\n      npm @`],
  ];
  for (const [where, file, ...labels] of cases) {
    it(`is right ${where}`, () => {
      assert.deepEqual(
        suggestions(file).map(({ label }) => label),
        labels,
      );
    });
  }

  it("replaces nothing of another line, which no editor would do", () => {
    for (const [file, caret, word] of [
      ["aa\n\na", 3, ""],
      ["\nna", 3, "na"],
    ] as const) {
      const found = suggest(file, caret);
      assert.ok(found.length > 0, file);
      for (const { replaces } of found) assert.equal(file.slice(replaces.start, replaces.end), word);
    }
  });

  it("begins a file with a whole pipeline", () => {
    for (const file of ["|", "\n|\n", "# mine\n|"]) {
      const labels = suggestions(file).map(({ label }) => label);
      for (const label of ["resources", "steps", "pipeline: cli", "pipeline: http"]) {
        assert.ok(labels.includes(label), `${label} in ${labels}`);
      }
    }
  });

  it("writes a whole step that is valid as it comes", () => {
    for (const { label, snippet } of suggestions(`${resources}steps:\n  |`)) {
      if (!label.startsWith("step with")) continue;
      const base = resources.replace("type: browser", 'type: browser, base-url: "http://127.0.0.1:1"');
      const parsed = parsePipeline(`${base}steps:\n  ${written(snippet)}`, "a.yaml");
      assert.equal(parsed.kind, "valid", JSON.stringify(parsed));
    }
  });

  it("names the environment's variables that the file names already, and closes the reference", () => {
    const before = `${resources}steps:\n  - { use: shop, get: "/\${{ env.TOKEN }}", headers: { a: "`;
    for (const begun of ["$", "${", "${{", "${{ ", "${{ env.", "${{ env.TO"]) {
      const found = suggestions(`${before}${begun}|" } }`).find(({ label }) =>
        /^(?:env\.)?TOKEN$/.test(label),
      );
      const applied = apply(`${before}${begun}" } }`, found);
      assert.equal(applied, `${before}\${{ env.TOKEN }}" } }`);
    }
    const fixed = suggestions(`${resources}steps:\n  - use: \${{ |`);
    assert.ok(fixed.every(({ kind }) => kind !== "variable"));
  });

  it("puts quotes around what a flow map would take apart", () => {
    const [another] = suggestions("resources: { db: { type: sql, url: $| } }");
    assert.equal(another?.snippet, '"\\${{ env.$0 \\}\\}"');
    const file = 'resources:\n  "1": { type: cli }\nsteps:\n  - use: |';
    assert.equal(suggestions(file)[0]?.snippet, '"1"');
  });

  it("leaves what stands behind a name's colon", () => {
    const found = suggestions(`${resources}steps:\n  - use: sh\n    ru|n: npm test`);
    assert.equal(found.find(({ label }) => label === "run")?.snippet, "run");
    assert.deepEqual(found[0]?.replaces.end, `${resources}steps:\n  - use: sh\n    run`.length);
  });

  it("is nothing in a file that is too large to be read", () => {
    assert.deepEqual(suggest(`#${"x".repeat(largestFile)}\n`, largestFile + 2), []);
  });

  it("are names that can stand there, whatever is typed where, in a file that ends there or goes on", () => {
    let tried = 0;
    fc.assert(
      fc.property(fc.constantFrom(...samples), fc.nat(), fc.boolean(), (sample, at, isCut) => {
        const offset = at % (sample.length + 1);
        const text = isCut ? sample.slice(0, offset) + closing(sample.slice(0, offset)) : sample;
        for (const found of suggest(text, offset)) {
          assert.ok(found.replaces.start <= offset && offset <= found.replaces.end);
          if (found.kind !== "field") continue;
          const parsed = parsePipeline(apply(text, found), "a.yaml");
          if (parsed.kind === "valid") continue;
          // In broken YAML, the name may not stand where it seems to.
          if (parseDocument(apply(text, found)).errors.length > 0) continue;
          tried += 1;
          const lines = apply(text, found)
            .slice(0, found.replaces.start + found.snippet.indexOf(found.label))
            .split("\n");
          for (const { message, line, column } of parsed.problems) {
            if (line !== lines.length || column !== (lines.at(-1) ?? "").length + 1) continue;
            assert.ok(
              !/has no `|belongs to|is here twice|already has|can't stand|no body/.test(message),
              message,
            );
          }
        }
      }),
      { numRuns: 400 },
    );
    assert.ok(tried > 100);
  });
});

/** At the `|` of a file, or at its end behind an `@`. */
function suggestions(file: string): readonly Suggestion[] {
  if (file.endsWith("@")) return suggest(file.slice(0, -1), file.length - 1);
  const offset = file.indexOf("|");
  return suggest(file.slice(0, offset) + file.slice(offset + 1), offset);
}

function apply(text: string, found: Suggestion | undefined): string {
  assert.ok(found !== undefined);
  return text.slice(0, found.replaces.start) + written(found.snippet) + text.slice(found.replaces.end);
}

/** What an editor writes for a snippet. */
function written(snippet: string): string {
  return snippet
    .replace(/\$\{\d+:([^}]*)\}/g, "$1")
    .replace(/(?<=[\w)])\$0/g, "")
    .replace(/(?<!\\)\$0/g, "x")
    .replace(/\\([\\$}])/g, "$1");
}

/** The brackets that a text leaves open. */
function closing(text: string): string {
  const open: string[] = [];
  for (const [, bracket = ""] of text.replace(/#.*|"[^"\n]*"|'[^'\n]*'/g, "").matchAll(/([{}[\]])/g)) {
    if (bracket === "{") open.push("}");
    else if (bracket === "[") open.push("]");
    else open.pop();
  }
  return open.reverse().join("");
}
