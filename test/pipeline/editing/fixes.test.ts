// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the expressions that pipeline files are written with.
import assert from "node:assert/strict";
import { outlineOf } from "../../../src/pipeline/editing/outline.ts";
import { passFix } from "../../../src/pipeline/editing/passFix.ts";
import { fixOf, problemSpan } from "../../../src/pipeline/editing/problemSpan.ts";
import { edited } from "../../../src/pipeline/mistakes/repairs.ts";
import { parsePipeline } from "../../../src/pipeline/parsePipeline.ts";

const head = `inputs: { region: eu, path: x }
resources:
  sh: { type: cli, env: { LEVEL: 1 } }
  db: { type: sql, url: "sqlite::memory:" }
  pg: { type: sql, url: "postgres://h.test/a" }
  my: { type: sql, url: "mariadb://h.test/a" }
  other: { type: sql, url: "\${{ env.DB }}" }
  shop: { type: http, base-url: "http://h.test" }
steps:
  - { id: order, use: shop, get: / }
`;

/** The first problem's text, and the file once it is mended. */
function mended(steps: string): { readonly wrong: string; readonly after: string | undefined } {
  const text = head + steps;
  const parsed = parsePipeline(text, "a.yaml");
  assert(parsed.kind === "invalid", "there is nothing to mend");
  const outline = outlineOf(text);
  const [problem] = parsed.problems;
  const span = problemSpan(text, outline.tree, problem);
  const fix = fixOf(text, span, problem) ?? passFix(text, outline, span);
  const after = fix && edited(text, fix.edits);
  if (after !== undefined) {
    const again = parsePipeline(after, "a.yaml");
    assert.equal(again.kind, "valid", JSON.stringify(again));
  }
  return { wrong: text.slice(span.start, span.end), after: after?.slice(head.length) };
}

describe("a name in an expression that there isn't", () => {
  const cases: readonly (readonly [wrong: string, meant: string, text: string])[] = [
    ["ordre", "order", 'get: "/${{ steps.ordre.json.id }}"'],
    ["regoin", "region", "get: /${{ inputs.regoin }}/x"],
    ["regoin", "region", "get: /${{ inputs['regoin'] }}/x"],
    ["statsu", "status", "get: /${{ steps.order.statsu }}"],
    ["lenght", "length", "get: /${{ lenght(env.A) }}"],
    ["input", "inputs", "get: /${{ input.region }}"],
    ["inputs.regoin", "inputs.region", "get: /\n    if: inputs.regoin"],
  ];
  for (const [wrong, meant, text] of cases) {
    it(`is underlined alone, and corrected: ${text}`, () => {
      assert.deepEqual(mended(`  - use: shop\n    ${text}\n`), {
        wrong: wrong.startsWith("inputs.") ? "regoin" : wrong,
        after: `  - use: shop\n    ${text.replace(wrong, meant)}\n`,
      });
    });
  }
});

describe("a value that would become a part of a script or a statement", () => {
  const cases: readonly (readonly [before: string, after: string | undefined])[] = [
    [
      "  - use: sh\n    run: deploy ${{ inputs.region }} now # c\n",
      '  - use: sh\n    env: { REGION: "${{ inputs.region }}" }\n    run: deploy "$REGION" now # c\n',
    ],
    [
      "  - { use: sh, run: 'deploy ${{ steps.order.json.id }}' }\n",
      `  - { use: sh, env: { ID: "\${{ steps.order.json.id }}" }, run: 'deploy "$ID"' }\n`,
    ],
    [
      '  - run: |\n      echo one\n      echo "to ${{ inputs.region }}s"\n    use: sh\n',
      '  - env: { REGION: "${{ inputs.region }}" }\n    run: |\n      echo one\n      echo "to ${REGION}s"\n    use: sh\n',
    ],
    [
      "  - use: sh\n    env:\n      A: b\n    run: ${{ inputs.region }}\n",
      `  - use: sh\n    env:\n      REGION: "\${{ inputs.region }}"\n      A: b\n    run: '"$REGION"'\n`,
    ],
    [
      "  - { use: sh, env: { REGION: x }, run: 'a ${{ inputs.region }}' }\n",
      `  - { use: sh, env: { INPUTS_REGION: "\${{ inputs.region }}", REGION: x }, run: 'a "$INPUTS_REGION"' }\n`,
    ],
    [
      "  - { use: sh, env: {}, run: 'a ${{ inputs.path }}' }\n",
      `  - { use: sh, env: { INPUTS_PATH: "\${{ inputs.path }}" }, run: 'a "$INPUTS_PATH"' }\n`,
    ],
    ["  - use: sh\n    run: echo 'to ${{ inputs.region }}'\n", undefined],
    ["  - use: sh\n    run: |\n      #!/usr/bin/env python3\n      print(${{ inputs.region }})\n", undefined],
    [
      "  - use: db\n    query: select a from b where c = ${{ inputs.region }} and d = 1\n",
      '  - use: db\n    params: ["${{ inputs.region }}"]\n    query: select a from b where c = ? and d = 1\n',
    ],
    [
      "  - { use: db, query: 'select ?, ${{ inputs.region }}', params: [1] }\n",
      `  - { use: db, query: "select ?, ?", params: [1, "\${{ inputs.region }}"] }\n`,
    ],
    ["  - { use: db, query: 'select ${{ inputs.region }}, ?', params: [1] }\n", undefined],
    [
      "  - use: pg\n    query: |\n      select $1, ${{ inputs.region }}\n    params:\n      - 1\n",
      '  - use: pg\n    query: |\n      select $1, $2\n    params:\n      - 1\n      - "${{ inputs.region }}"\n',
    ],
    [
      "  - { use: my, query: 'select ?, ${{ inputs.region }}', params: [1] }\n",
      '  - { use: my, query: "select ?, ?", params: [1, "${{ inputs.region }}"] }\n',
    ],
    ["  - { use: my, query: 'select ${{ inputs.region }} # or' }\n", undefined],
    ["  - use: pg\n    query: select '${{ inputs.region }}'\n", undefined],
    ["  - use: other\n    query: select ${{ inputs.region }}\n", undefined],
  ];
  for (const [before, after] of cases) {
    const what = after === undefined ? "is left where it isn't certain how" : "is passed beside it";
    it(`${what}: ${JSON.stringify(before)}`, () => assert.equal(mended(before).after, after));
  }
});
