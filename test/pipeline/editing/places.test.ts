// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { largestFile } from "../../../src/contract/limits.ts";
import { hoverAt } from "../../../src/pipeline/editing/hover.ts";
import { namedAt, problemOfNewName, renameAll } from "../../../src/pipeline/editing/named.ts";
import { findStep, outlineOf } from "../../../src/pipeline/editing/outline.ts";
import { fixOf, problemSpan } from "../../../src/pipeline/editing/problemSpan.ts";
import { parsePipeline } from "../../../src/pipeline/parsePipeline.ts";

const folder = join(import.meta.dirname, "../../../samples/pipelines");
const samples = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));

const file = `name: checkout
time-limit: 90s
resources:
  shop: { type: http, base-url: "http://127.0.0.1:1" }
  shell:
    type: cli
    cwd: shop
steps:
  - name: it answers
    use: shop
    get: /health
    headers: { authorization: "Bearer \${{ env.TOKEN }}" }
  - use: shell
    run: |
      npm test
`;

describe("the outline of a pipeline file", () => {
  it("has its resources and its steps, with where they stand", () => {
    const { name, resources, steps } = outlineOf(file);
    assert.equal(name?.text, "checkout");
    assert.deepEqual(
      resources.map((resource) => [resource.name.text, resource.type, cut(file, resource.span)]),
      [
        ["shop", "http", 'shop: { type: http, base-url: "http://127.0.0.1:1" }'],
        ["shell", "cli", "shell:\n    type: cli\n    cwd: shop"],
      ],
    );
    assert.deepEqual(
      steps.map(({ label, use, span }) => [label, use?.text, cut(file, span).split("\n").length]),
      [
        ["it answers", "shop", 4],
        ["run npm test", "shell", 3],
      ],
    );
  });

  it("has of a broken file what can be told", () => {
    const { resources, steps } = outlineOf(
      "resources: { a: { type: clii }, b }\nsteps:\n  - use: a\n  - {\n",
    );
    assert.deepEqual(
      resources.map(({ name, type }) => [name.text, type]),
      [
        ["a", undefined],
        ["b", undefined],
      ],
    );
    assert.equal(steps[0]?.use?.text, "a");
  });

  it("has the inputs, the parts, the cleanup and the outputs, and knows a run's step in it", () => {
    const part =
      "resources: { sh: { type: cli } }\nsteps: [{ name: in, use: sh, run: x }, { name: out, use: sh, run: x }]\nfinally: [{ name: clean, use: sh, run: x }]\n";
    const outer =
      "resources: { sh: { type: cli } }\nsteps: [{ include: inner.yaml }, { name: between, use: sh, run: x }]\n";
    const text = `inputs: { a: 1, b: { options: [x, y] }, c: { default: "true" } }
resources: { sh: { type: cli } }
finally: [{ name: last, use: sh, run: x }]
steps:
  - { id: outer, include: outer.yaml }
  - { name: own, use: sh, run: x }
  - { include: inner.yaml }
outputs: { result: 1 }
`;
    const readPart = (path: string) =>
      ({ kind: "read", text: path === "inner.yaml" ? part : outer }) as const;
    const outline = outlineOf(text, readPart);
    assert.deepEqual(
      outline.inputs.map(({ name, type, options }) => [name.text, type, options.length]),
      [
        ["a", "number", 0],
        ["b", "text", 2],
        ["c", "text", 0],
      ],
    );
    assert.deepEqual(
      outline.steps.map(({ label, list, id }) => [label, list, id?.text]),
      [
        ["include outer.yaml", "steps", "outer"],
        ["own", "steps", undefined],
        ["include inner.yaml", "steps", undefined],
        ["last", "finally", undefined],
      ],
    );
    assert.deepEqual(
      outline.outputs.map((name) => name.text),
      ["result"],
    );
    const parsed = parsePipeline(text, "a.yaml", readPart);
    assert.equal(parsed.kind, "valid", JSON.stringify(parsed));
    const planned = parsed.kind === "valid" ? parsed.pipeline.steps : [];
    assert.deepEqual(
      planned.map(({ name }, index) => [name, findStep(outline, parsed, { name, index })?.label]),
      [
        ["inner.yaml: in", "include outer.yaml"],
        ["inner.yaml: out", "include outer.yaml"],
        ["outer: between", "include outer.yaml"],
        ["own", "own"],
        ["inner.yaml: in", "include inner.yaml"],
        ["inner.yaml: out", "include inner.yaml"],
        ["last", "last"],
        ["inner.yaml: clean", "include inner.yaml"],
        ["inner.yaml: clean", "include outer.yaml"],
      ],
    );
    assert.equal(findStep(outline, parsed, { name: "gone", index: 0 }), undefined);
  });

  it("is empty for a file that is too large, however it is nested or full of aliases", () => {
    const bomb = `a: &a [${"x,".repeat(20)}]\n${Array.from({ length: 30 }, (_, index) => `${index}: [*a, *a]`).join("\n")}`;
    assert.deepEqual(outlineOf(bomb).steps, []);
    assert.deepEqual(outlineOf("[".repeat(largestFile)).steps, []);
    assert.deepEqual(outlineOf("x".repeat(largestFile + 1)).tree, undefined);
  });
});

describe("what a problem of a pipeline file is underlined with", () => {
  const cases: readonly (readonly [text: string, ...spans: string[]])[] = [
    ["resources: { a: { type: clii } }\nsteps: [{ use: a, run: x }]", "clii"],
    ["resources: { a: { type: cli } }\nsteps:\n  - use: a\n    runn: npm test", "runn"],
    ["resources: { a: { type: cli } }\nsteps: [{ use: a }]", "{ use: a }"],
    ["resources: { a: { type: cli } }\nsteps:\n  - use: b\n    run: x", "b"],
    ["steps:\n  - use: |\n      a\n      b\n", "|"],
    ["time-limit: 2h\nresources: { a: { type: cli } }\nsteps: [{ use: a, run: x }]", "2h"],
    ["steps: [", "["],
    ["", ""],
    ["\n\n", ""],
  ];
  for (const [text, ...spans] of cases) {
    it(`is the part that is wrong: ${JSON.stringify(text)}`, () => {
      const parsed = parsePipeline(text, "a.yaml");
      const { tree } = outlineOf(text);
      const problems = parsed.kind === "invalid" ? parsed.problems : [];
      assert.deepEqual(
        problems.map((problem) => cut(text, problemSpan(text, tree, problem))),
        spans,
      );
    });
  }

  it("is corrected where the parser knows the word that was meant, and nothing else is", () => {
    const text =
      'resources: { a: { type: clii }, b: { type: browser, base-url: "http://h.test" }, db: { type: sql, url: "sqlit:x" } }\nsteps:\n  - { use: b, goto: /, actions: [{ press: Contrl+a }] }\n  - { use: bb, goto: / }\n  - { use: b, got: / }\n  - { use: zzzz }\n';
    const parsed = parsePipeline(text, "a.yaml");
    const { tree } = outlineOf(text);
    const corrected = (parsed.kind === "invalid" ? parsed.problems : []).map((problem) => {
      const [edit] = fixOf(text, problemSpan(text, tree, problem), problem)?.edits ?? [];
      return edit && `${cut(text, edit.span)} → ${edit.text}`;
    });
    assert.deepEqual(corrected, [
      "clii → cli",
      "sqlit: → sqlite:",
      "Contrl → Control",
      "bb → b",
      "got → goto",
      undefined,
    ]);
  });
});

describe("a resource of a pipeline file", () => {
  it("is found by its name and by its uses, which all get its new name", () => {
    const outline = outlineOf(file);
    for (const where of ["  shop: {", "use: shop"]) {
      const named = namedAt(file, outline, file.indexOf(where) + where.indexOf("shop") + 1);
      assert.deepEqual([named?.name, named?.definitions.length, named?.uses.length], ["shop", 1, 1]);
    }
    assert.equal(namedAt(file, outline, file.indexOf("cwd: shop") + 6), undefined);
    assert.equal(namedAt(file, outline, file.indexOf("/health")), undefined);
  });

  it("gets no name that it can't have", () => {
    const outline = outlineOf(file);
    const shop = { kind: "resource", name: "shop" } as const;
    assert.match(problemOfNewName(outline, shop, "a shop") ?? "", /begins with a letter or digit/);
    assert.match(problemOfNewName(outline, shop, "shell") ?? "", /has a resource “shell” already/);
    assert.equal(problemOfNewName(outline, shop, "shop"), undefined);
    assert.equal(problemOfNewName(outline, shop, "store"), undefined);
  });

  it("is the same pipeline under any other name, also one that YAML takes for something else", () => {
    const names = fc.oneof(
      fc.constantFrom("null", "true", "no", "1", "1.5", "0x1f", "1e3", "2026-01-01", "x", "Z.z_-9"),
      fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,9}$/),
    );
    const read = samples.map((sample) => [sample, parsePipeline(sample, "a.yaml")] as const);
    fc.assert(
      fc.property(fc.constantFrom(...read), fc.nat(), names, ([sample, before], at, name) => {
        const outline = outlineOf(sample);
        const resource = outline.resources[at % outline.resources.length];
        assert.ok(resource !== undefined);
        const old = resource.name.text;
        if (problemOfNewName(outline, { kind: "resource", name: old }, name) !== undefined) return;
        const named = namedAt(sample, outline, resource.name.start);
        assert.ok(named !== undefined);
        const edits = renameAll(named, name).toSorted((one, other) => other.span.start - one.span.start);
        const renamed = edits.reduce(
          (text, { span, text: written }) => text.slice(0, span.start) + written + text.slice(span.end),
          sample,
        );
        const after = parsePipeline(renamed, "a.yaml");
        assert.ok(before.kind === "valid" && after.kind === "valid", JSON.stringify(after));
        const asNamed = before.pipeline.steps.map((step) =>
          step.use === old ? { ...step, use: name } : step,
        );
        assert.deepEqual(after.pipeline.steps, asNamed);
      }),
      { numRuns: 200 },
    );
  });
});

describe("what is told under the pointer in a pipeline file", () => {
  const at = (where: string, letter = 1) => hoverAt(file, outlineOf(file), file.indexOf(where) + letter);

  it("is a field's meaning with its default and its bounds", () => {
    assert.equal(
      at("time-limit")?.meaning,
      "How long a run may take. When it is over, the run is stopped. Default: `30s`. Allowed: whole seconds, from `1s` to `1h`.",
    );
    assert.match(at("get:")?.meaning ?? "", /^Sends a GET request/);
    assert.match(at("base-url")?.meaning ?? "", /put before each step's path/);
  });

  it("is a resource's definition where a step uses it, and its uses where it is defined", () => {
    const used = at("use: shell", 6);
    assert.match(used?.meaning ?? "", /of type `cli`/);
    assert.equal(used?.code, "shell:\n  type: cli\n  cwd: shop");
    assert.match(at("  shop: {", 3)?.meaning ?? "", /One step uses it\.$/);
  });

  it("is what a reference to the environment stands for, and never its value", () => {
    const told = at("env.TOKEN", 5);
    assert.match(told?.meaning ?? "", /The variable `TOKEN` of the file's `env-file`, or of the environment/);
    assert.equal(cut(file, told?.span ?? { start: 0, end: 0 }), "TOKEN");
  });
});

function cut(text: string, { start, end }: { readonly start: number; readonly end: number }): string {
  return text.slice(start, end);
}
