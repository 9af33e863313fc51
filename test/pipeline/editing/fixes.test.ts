// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the expressions that pipeline files are written with.
import assert from "node:assert/strict";
import { outlineOf } from "../../../src/pipeline/editing/outline.ts";
import { fixOf, problemSpan } from "../../../src/pipeline/editing/problemSpan.ts";
import { edited } from "../../../src/pipeline/mistakes/repairs.ts";
import { parsePipeline } from "../../../src/pipeline/parsePipeline.ts";

const head = `inputs: { region: eu }
resources:
  sh: { type: cli }
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
  const fix = fixOf(text, span, problem);
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
    ["inputs.regoin", "inputs.region", "get: /\n    if: inputs.regoin == 'eu'"],
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

describe("a word of another tool", () => {
  const cases: readonly (readonly [before: string, told: string, after: string | undefined])[] = [
    [
      "  - { use: shop, get: /, retry: 3 }\n",
      "expected `{ for: 30s, every: 1s }` or `{ times: 3, every: 1s }`",
      undefined,
    ],
    [
      "  - use: shop\n    get: /\n    retry: { times: 2, interval: 1s }\n",
      "`retry` has no `interval`; did you mean `every`?",
      "  - use: shop\n    get: /\n    retry: { times: 2, every: 1s }\n",
    ],
    [
      "  - use: shop\n    get: /\n    retry: { max: 2 }\n",
      "`retry` has no `max`; did you mean `times`?",
      "  - use: shop\n    get: /\n    retry: { times: 2 }\n",
    ],
    ["  - { use: shop, get: /, each: 3 }\n", "expected a list, or an expression that is one", undefined],
    [
      "  - { use: shop, get: /, mask: json.token }\n",
      "expected a list; did you mean `[json.token]`?",
      "  - { use: shop, get: /, mask: [json.token] }\n",
    ],
    [
      "  - { use: shop, get: /, timeout: 5 sin }\n",
      "expected a length of time such as 500ms, 60s, 5m or 1h, or a number of seconds",
      undefined,
    ],
    [
      "  - { use: shop, get: /, headers: [accept] }\n",
      "expected a map of names and values, not a list: `name: value` without dashes and brackets",
      undefined,
    ],
    [
      "  - { use: shop, get: /, expect: 204 }\n",
      "expected a map of names and values, such as `{ status: 204 }` of a reply or `{ exit-code: 3 }` of a program",
      undefined,
    ],
    ["  - { use: shop, get: /, query: a=1&b=x y }\n", "expected a map of names and values", undefined],
    [
      "  - { use: shop, get: /, timeout: 10 minutes }\n",
      "expected a length of time such as 500ms, 60s, 5m or 1h, or a number of seconds; did you mean `10m`?",
      "  - { use: shop, get: /, timeout: 10m }\n",
    ],
    [
      '  - { use: shop, get: /, expect: { status: "204" } }\n',
      "expected a number from 100 to 599, or a kind of status such as 2xx; did you mean `204`?",
      "  - { use: shop, get: /, expect: { status: 204 } }\n",
    ],
    [
      "  - { use: sh, run: x, expect: { output: { equals: paid } } }\n",
      "expected text, or a list of texts",
      undefined,
    ],
    [
      "  - { use: shop, get: /, expect: { that: status == 200 } }\n",
      "there is no `status`; did you mean `this.status`?",
      "  - { use: shop, get: /, expect: { that: this.status == 200 } }\n",
    ],
    [
      "  - { use: shop, get: /, if: github.ref == 'x' }\n",
      "there is no `github`; what a CI system says is in `env`, such as `env.GITHUB_SHA`",
      undefined,
    ],
    [
      "  - { use: shop, get: /, expect: { that: this.text contains 'a' } }\n",
      "`contains` is a function: `contains(whole, part)`",
      undefined,
    ],
    [
      "  - { use: shop, get: /, params: { sort: price } }\n",
      "an http step has no `params`; did you mean `query`?",
      "  - { use: shop, get: /, query: { sort: price } }\n",
    ],
    [
      "  - { use: shop, get: /, auth: { bearer: a } }\n",
      '`auth` has no `bearer`; a token is a header: `headers: { authorization: "Bearer ${{ env.TOKEN }}" }`',
      undefined,
    ],
    [
      "  - { use: sh, run: x, artifacts: dist }\n",
      "a cli step has no `artifacts`; did you mean `keep`?",
      "  - { use: sh, run: x, keep: dist }\n",
    ],
    [
      "  - use: shop\n    continue-on-error: true\n    get: /\n",
      "an http step has no `continue-on-error`; write `on-failure: continue`",
      "  - use: shop\n    on-failure: continue\n    get: /\n",
    ],
    [
      "  - { use: sh, continue_on_error: '${{ inputs.region }}', run: x }\n",
      "a cli step has no `continue_on_error`; write `on-failure: continue`",
      undefined,
    ],
    [
      "  - { use: shop, get: /, expect: { json-path: { $.a: 1 } } }\n",
      "`expect` has no `json-path`; write the path in a condition, such as `that: this.json.total == 3`",
      undefined,
    ],
    [
      "  - { use: shop, get: /, until: this.status == 200 }\n",
      "an http step has no `until`; `retry` tries the step until all that it expects holds",
      undefined,
    ],
    [
      "  - { use: shop, get: /, expect: { response-time: 2s } }\n",
      "`expect` has no `response-time`; did you mean `time`?",
      "  - { use: shop, get: /, expect: { time: 2s } }\n",
    ],
    [
      "  - { use: shop, post: /, body: { lamp: desk } }\n",
      "expected text; `json` sends any value, and `form` the fields of a form",
      undefined,
    ],
    [
      "  - { use: sh, run: x, background: true, ready: 8080 }\n",
      "expected what shows it, such as `{ port: 8080 }` or `{ output: is open }`",
      undefined,
    ],
    [
      "  - { use: sh, run: x }\nalways: [{ use: sh, run: x }]\n",
      "a pipeline has no `always`; did you mean `finally`?",
      "  - { use: sh, run: x }\nfinally: [{ use: sh, run: x }]\n",
    ],
    [
      "  - { use: sh, uses: actions/checkout@v4, run: x }\n",
      "a cli step has no `uses`; a program does what an action does; other steps are put in by `include: parts/login.yaml`",
      undefined,
    ],
    [
      "  - { use: shop, get: '/${{ steps.order.outputs.id }}' }\n",
      "`steps.order` has no `outputs`; did you mean `json`?",
      "  - { use: shop, get: '/${{ steps.order.json.id }}' }\n",
    ],
    [
      "  - { use: sh, if: always(), run: x }\n",
      "there is no function `always`; what runs however a run ends stands in `finally`",
      undefined,
    ],
    [
      "  - { use: sh, run: x, needs: [a] }\n",
      "a cli step has no `needs`; steps run one after the other, in the order of the file",
      undefined,
    ],
    [
      "  - { use: shop, get: '/${{ vars.region }}' }\n",
      "there is no `vars`; did you mean `inputs`?",
      "  - { use: shop, get: '/${{ inputs.region }}' }\n",
    ],
    [
      "  - { use: shop, get: /, retry: { times: 3, attempts: 3 } }\n",
      "`retry` has no `attempts`; that is `times` here",
      undefined,
    ],
    [
      "  - { use: shop, get: /, on-failure: continue, force: true }\n",
      "an http step has no `force`; write `on-failure: continue`",
      undefined,
    ],
    ["  - { use: shop, script: x }\n", "an http step has no `script`", undefined],
  ];
  for (const [before, told, after] of cases) {
    it(`is told of and mended where that is certain: ${JSON.stringify(before)}`, () => {
      const parsed = parsePipeline(head + before, "a.yaml");
      assert.equal(parsed.kind === "invalid" && parsed.problems[0].message, told);
      assert.equal(mended(before).after, after);
    });
  }

  it("is told of at the top of the file too", () => {
    const file =
      "vars: { user: ada }\nenv: { A: 1 }\nsteps: [{ use: sh, run: x }]\nresources: { sh: { type: cli } }\n";
    const parsed = parsePipeline(file, "a.yaml");
    assert.deepEqual(parsed.kind === "invalid" && parsed.problems.map(({ message }) => message), [
      "a pipeline has no `vars`; did you mean `inputs`?",
      "a pipeline has no `env`; `env` stands in a resource of type cli or its steps; a constant is one of `inputs`",
    ]);
  });
});

describe("a list without its braces", () => {
  it("gets them", () => {
    assert.equal(
      mended("  - { each: steps.order.json.items, use: sh, run: x }\n").after,
      '  - { each: "${{ steps.order.json.items }}", use: sh, run: x }\n',
    );
  });
});
