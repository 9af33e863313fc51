// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the expressions that pipeline files are written with.
import assert from "node:assert/strict";
import { hoverAt } from "../../../src/pipeline/editing/hover.ts";
import { namedAt, partAt, problemOfNewName, renameAll } from "../../../src/pipeline/editing/named.ts";
import { outlineOf } from "../../../src/pipeline/editing/outline.ts";
import { suggest } from "../../../src/pipeline/editing/suggest.ts";
import { functions } from "../../../src/pipeline/expression/names.ts";
import { edited } from "../../../src/pipeline/mistakes/repairs.ts";
import { parsePipeline } from "../../../src/pipeline/parsePipeline.ts";
import { everyResultField, resultFields } from "../../../src/pipeline/types/resultFields.ts";

const login = `inputs:
  user: { description: Who logs in }
  kind: { options: [buyer, seller], default: buyer }
resources: { shop: { type: http, base-url: "http://127.0.0.1:1" } }
steps:
  - { id: in, use: shop, get: / }
outputs: { token: "\${{ steps.in.json.token }}" }
`;
const project = {
  readPart: (path: string) =>
    path === "parts/login.yaml" ? ({ kind: "read", text: login } as const) : undefined,
  files: () => ["parts/login.yaml", "pipelines/other.yaml"],
};
const head = `inputs:
  region: { options: [eu, us], default: eu, description: Whose prices are used }
  lamps: 2
resources:
  shop: { type: http, base-url: "http://127.0.0.1:1" }
  sh: { type: cli }
  db: { type: sql, url: "sqlite::memory:" }
steps:
  - { id: login, include: parts/login.yaml, inputs: { user: me } }
  - id: order
    use: shop
    get: /\${{ inputs.region }}
`;
const every = [...Object.keys(everyResultField)];

describe("what is suggested in an expression", () => {
  const cases: readonly (readonly [where: string, text: string, ...labels: string[]])[] = [
    ["of the inputs", "  - { use: shop, get: '/${{ inputs.|", "region", "lamps"],
    [
      "of the steps before",
      "  - { use: shop, get: '/${{ steps.| }}' }\n  - { id: later, use: sh, run: x }",
      "login",
      "order",
    ],
    [
      "of a step, by its type",
      "  - { use: shop, get: '/${{ steps.order.| }}' }",
      ...Object.keys(resultFields.http),
      ...every,
    ],
    ["of a part: its outputs", "  - { use: shop, get: '/${{ steps.login.|", "token", ...every],
    [
      "of the step itself, in `that`",
      "  - { use: sh, run: x, expect: { that: this.| } }",
      ...Object.keys(resultFields.cli),
      "time",
      "attempts",
    ],
    ["of the run", "  - { use: shop, get: '/${{ run.|", "id", "pipeline", "project", "started-at"],
    ["of the item", "  - { each: [1], use: shop, get: '/${{ each.|", "value", "index"],
    [
      "of a list of results, nothing",
      "  - { id: all, each: [1], use: sh, run: x }\n  - { use: sh, run: x, if: steps.all.| }",
    ],
    [
      "of each result",
      "  - { id: all, each: [1], use: sh, run: x }\n  - { use: sh, run: x, if: 'steps.all[0].|' }",
      ...Object.keys(resultFields.cli),
      ...every,
    ],
    ["of what only a run knows, nothing", "  - { use: shop, get: '/${{ steps.order.json.|"],
    ["in the cleanup, of all steps", "finally:\n  - { use: shop, get: '/${{ steps.|", "login", "order"],
    [
      "in the outputs, which are taken before the cleanup",
      "finally: [{ id: last, use: sh, run: x }]\noutputs: { x: '${{ steps.|",
      "login",
      "order",
    ],
    ["of the item where there is none, nothing", "  - { use: shop, get: '/${{ each.|"],
    ["of the inputs in a script, nothing", "  - use: sh\n    run: x ${{ inputs.|"],
    ["in a text of it, nothing", "  - { use: sh, run: x, if: inputs.region == 'e|"],
    ["of what a step can mask", "  - { use: sh, run: x, mask: [|] }", ...Object.keys(resultFields.cli)],
    ["behind `include`", "  - include: |", "parts/login.yaml", "pipelines/other.yaml"],
    ["in the inputs of a part", "  - include: parts/login.yaml\n    inputs: { | }", "user", "kind"],
    ["in an input of a part", "  - include: parts/login.yaml\n    inputs: { kind: | }", "buyer", "seller"],
  ];
  for (const [where, text, ...labels] of cases) {
    it(`is right ${where}`, () =>
      assert.deepEqual(
        suggestions(head + text).map(({ label }) => label),
        labels,
      ));
  }

  it("begins with what can stand there, and with every function", () => {
    const labels = suggestions(`${head}  - { use: sh, run: x, if: | }`).map(({ label }) => label);
    assert.deepEqual(labels, [
      "env",
      "inputs",
      "inputs.region",
      "inputs.lamps",
      "steps",
      "steps.login",
      "steps.order",
      "run",
      ...["id", "pipeline", "project", "started-at"].map((name) => `run.${name}`),
      ...Object.keys(functions),
    ]);
  });

  it("closes the braces once, and goes on behind what has members", () => {
    const cases: readonly (readonly [before: string, behind: string, label: string, after: string])[] = [
      ["$", '"', "inputs.region", '${{ inputs.region }}"'],
      ["${{", '}}"', "inputs.region", '${{ inputs.region }}"'],
      ["${{ in", '"', "inputs", '${{ inputs. }}"'],
      ["${{ inputs.re", 'gion }}"', "region", '${{ inputs.region }}"'],
      ["${{ steps.", ' == 1 }}"', "order", '${{ steps.order. == 1 }}"'],
      ["${{ jo", '"', "join", '${{ join() }}"'],
      ["$", '/${{ env.A }}"', "inputs.lamps", '${{ inputs.lamps }}/${{ env.A }}"'],
    ];
    for (const [before, behind, label, after] of cases) {
      const start = `${head}  - { use: shop, post: "/`;
      const text = `${start}${before}${behind} }`;
      const found = suggest(text, start.length + before.length, project).find((one) => one.label === label);
      assert.ok(found !== undefined, `${label} behind ${before}`);
      const { start: from, end } = found.replaces;
      const written = found.snippet.replace("$0", "").replace(/\\([\\$}])/g, "$1");
      assert.equal((text.slice(0, from) + written + text.slice(end)).slice(start.length), `${after} }`);
    }
  });
});

describe("what is told in an expression", () => {
  const text = `${head}  - use: sh
    if: contains(inputs.region, 'e') && steps.login.token != ''
    run: [x, "\${{ steps.order.headers.etag }}", "\${{ run.id }}"]
    expect: { that: 'this.exit-code == inputs.lamps' }
  - { include: parts/login.yaml, inputs: { kind: buyer } }
`;
  const outline = outlineOf(text, project.readPart);
  const at = (where: string, letter = 1) => hoverAt(text, outline, text.indexOf(where) + letter);

  it("is what stands there", () => {
    const inputText = "Whose prices are used. An input: a text. Default: `eu`. Allowed: `eu`, `us`.";
    assert.equal(at("region, 'e'")?.meaning, inputText);
    assert.equal(at("region: {")?.meaning, `${inputText} It is read 2 times.`);
    assert.match(at("contains(")?.meaning ?? "", /^Whether a text contains/);
    assert.equal(at("contains(")?.code, "contains(whole, part)");
    assert.match(at("steps.login")?.meaning ?? "", /^The results of the steps before/);
    assert.equal(at("login.token")?.meaning, "The result of a part: `include parts/login.yaml`.");
    assert.match(at("token !=")?.meaning ?? "", /`outputs`/);
    assert.match(at("order.headers")?.meaning ?? "", /step of type `http`: `get .*`/);
    assert.match(at("headers.etag")?.meaning ?? "", /^The reply's headers/);
    assert.match(at("exit-code ==")?.meaning ?? "", /^The program's exit code/);
    assert.match(at("id }}")?.meaning ?? "", /^The run's id/);
    assert.match(at("kind: buyer")?.meaning ?? "", /Allowed: `buyer`, `seller`/);
  });

  it("shows what the file says of an input as it is, without a picture that would be fetched", () => {
    const file =
      "inputs:\n  shop: { type: text, description: 'See ![x](https://a.example/x.png) <b>\n\n    # now' }\n";
    const meaning = hoverAt(file, outlineOf(file), file.indexOf("shop") + 1)?.meaning ?? "";
    assert.match(meaning, /^See \\!\\\[x\\\]\\\(https:\/\/a\.example\/x\.png\\\) \\<b\\> \\# now\. An input/);
  });
});

describe("an id and an input of a pipeline file", () => {
  const text = `inputs: { region: eu }
resources: { sh: { type: cli } }
steps:
  - { id: order, use: sh, run: [x, "\${{ inputs.region }}"] }
  - use: sh
    if: steps['order'].exit-code == 0 && inputs.region != 'region'
    each: ["\${{ inputs['region'] }}", "it's \\"\${{ steps.order.output }}\\""]
    run: |
      order $NAME
    env:
      NAME: '\${{ format(''{0}'', steps.order.json.order) }}'
    expect: { that: [steps.order.time < 5] }
outputs: { order: "\${{ steps.order.json }}" }
`;

  it("get a new name wherever they stand, and nothing else does", () => {
    for (const [where, old, name, count] of [
      ["order, use", "order", "bought", 6],
      ["region: eu", "region", "place-2", 4],
      ["region'] }}", "region", "null", 4],
    ] as const) {
      const outline = outlineOf(text);
      const named = namedAt(text, outline, text.indexOf(where) + 1);
      assert.ok(named !== undefined);
      assert.equal(named.name, old);
      assert.equal(problemOfNewName(outline, named, name), undefined);
      const edits = renameAll(named, name);
      assert.equal(edits.length, count);
      const before = parsePipeline(text, "a.yaml");
      const after = parsePipeline(edited(text, edits), "a.yaml");
      assert.equal(before.kind, "valid", JSON.stringify(before));
      assert.equal(after.kind, "valid", JSON.stringify(after));
      assert.equal(edited(edited(text, edits), renameBack(edited(text, edits), named.kind, name, old)), text);
    }
    assert.equal(namedAt(text, outlineOf(text), text.indexOf("order $NAME")), undefined);
  });

  it("get no name that they can't have", () => {
    const outline = outlineOf(text);
    assert.match(
      problemOfNewName(outline, { kind: "input", name: "region" }, "a b") ?? "",
      /begins with a letter/,
    );
    assert.match(problemOfNewName(outlineOf(head), { kind: "id", name: "order" }, "login") ?? "", /already/);
  });

  it("lead to the part that is included, and to the input that it is given", () => {
    const outline = outlineOf(head);
    assert.deepEqual(partAt(head, outline, head.indexOf("parts/") + 2), { path: "parts/login.yaml" });
    assert.deepEqual(partAt(head, outline, head.indexOf("user: me")), {
      path: "parts/login.yaml",
      input: "user",
    });
    assert.equal(partAt(head, outline, head.indexOf("use: shop")), undefined);
  });

  it("lead from where an output is read to the part that gives it", () => {
    const file = `${head}  - { use: sh, run: [x, "\${{ steps.login.token }}", "\${{ steps.order.text }}"] }\n`;
    const outline = outlineOf(file);
    assert.deepEqual(partAt(file, outline, file.indexOf("token }}")), {
      path: "parts/login.yaml",
      output: "token",
    });
    assert.equal(partAt(file, outline, file.indexOf("text }}")), undefined);
  });
});

function renameBack(text: string, kind: string, name: string, old: string) {
  const outline = outlineOf(text);
  const definition = kind === "id" ? outline.steps[0]?.id : outline.inputs[0]?.name;
  const named = namedAt(text, outline, definition?.start ?? 0);
  assert.equal(named?.name, name);
  return renameAll(named, old);
}

/** At the `|` of a file. */
function suggestions(file: string) {
  const offset = file.indexOf("|", head.length);
  return suggest(file.slice(0, offset) + file.slice(offset + 1), offset, project);
}
