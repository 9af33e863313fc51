// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions as pipeline files write them.
import assert from "node:assert/strict";
import { parsePipeline } from "../../src/pipeline/parsePipeline.ts";
import { skippedUse, stepToResumeAt } from "../../src/pipeline/stepToResumeAt.ts";

type Files = Readonly<Record<string, string>>;

function parse(text: string, files: Files = {}) {
  return parsePipeline(text, "checkout.yaml", (path) => {
    const part = files[path];
    return part === undefined
      ? { kind: "unreadable", problem: "it isn't there" }
      : { kind: "read", text: part };
  });
}

function valid(text: string, files?: Files) {
  const parsed = parse(text, files);
  assert.equal(parsed.kind, "valid", JSON.stringify(parsed));
  return parsed.pipeline;
}

function problems(text: string, files?: Files): readonly string[] {
  const parsed = parse(text, files);
  assert.equal(parsed.kind, "invalid", "there is no problem");
  return parsed.problems.map(({ line, column, message }) => `${line}:${column}: ${message}`);
}

const resources =
  'resources: { sh: { type: cli }, shop: { type: http, base-url: "http://h.test" }, db: { type: sql, url: "sqlite::memory:" }, page: { type: browser, base-url: "http://h.test" } }';
const steps = (...lines: readonly string[]) =>
  `${resources}\nsteps:\n${lines.map((line) => `  - ${line}\n`).join("")}`;
const fine = '{ use: sh, run: "true" }';

describe("what is meant in a pipeline file", () => {
  it("is a text in a list, also where that looks like something else", () => {
    assert.deepEqual(problems(`tags: "true"\n${steps(fine)}`), [
      '1:7: expected a list; did you mean `["true"]`?',
    ]);
  });

  it("is a resource, not its type, where that stands beside its name", () => {
    const each =
      "a resource is a map with a `type`, such as `sh: { type: cli }`; the types are http, sql, browser, cli";
    assert.deepEqual(problems(`resources:\n  sh:\n  type: cli\nsteps:\n  - ${fine}\n`), [
      `2:3: ${each}`,
      `3:9: ${each}`,
    ]);
  });
});

describe("the inputs that a pipeline file declares", () => {
  const inputs = (yaml: string) => `inputs:\n${yaml}\n${steps(fine)}`;

  it("have the type of their default, or one of their own", () => {
    assert.deepEqual(
      valid(
        inputs(`  url: "\${{ default(env.SHOP, 'http://h.test') }}"
  lamps: 2
  visit: true
  user:
  token: {}
  region: { options: [eu, us], default: eu, description: Whose prices }
  size: { options: [1, 2] }
  count: { type: number, default: "\${{ number(env.COUNT) }}" }`),
      ).inputs,
      [
        { name: "url", type: "text", default: "${{ default(env.SHOP, 'http://h.test') }}" },
        { name: "lamps", type: "number", default: 2 },
        { name: "visit", type: "boolean", default: true },
        { name: "user", type: "text" },
        { name: "token", type: "text" },
        { name: "region", type: "text", options: ["eu", "us"], default: "eu", description: "Whose prices" },
        { name: "size", type: "number", options: [1, 2] },
        { name: "count", type: "number", default: "${{ number(env.COUNT) }}" },
      ],
    );
  });

  for (const [why, yaml, ...told] of [
    ["a default of another type", "  a: { type: number, default: x }", "2:31: expected a number"],
    [
      "a number in quotes",
      "  a: { type: number, default: '3' }",
      "2:31: expected a number; leave out the quotes",
    ],
    [
      "a truth in quotes",
      "  a: { type: boolean, default: 'true' }",
      "2:32: expected true or false; leave out the quotes",
    ],
    [
      "a default that is no option",
      "  a: { options: [x, y], default: z }",
      "2:34: this is none of the `options`: x, y",
    ],
    ["options of two types", "  a: { options: [x, 1] }", "2:21: expected text; put this number in quotes"],
    [
      "a type of another tool",
      "  a: { type: string }",
      "2:14: expected one of text, number, boolean; did you mean `text`?",
    ],
    [
      "another of them",
      "  a: { type: integer }",
      "2:14: expected one of text, number, boolean; did you mean `number`?",
    ],
    [
      "a third",
      "  a: { type: bool }",
      "2:14: expected one of text, number, boolean; did you mean `boolean`?",
    ],
    [
      "a type that is none here",
      "  a: { type: choice, options: [x, y] }",
      "2:14: expected one of text, number, boolean; leave it out and write `options: [eu, us]`",
    ],
    ["an unknown type", "  a: { type: date }", "2:14: expected one of text, number, boolean"],
    [
      "a list",
      "  a: [1]",
      "2:6: expected the input's default, or a map with `type`, `options`, `default`, `description`",
    ],
    [
      "a word that it hasn't",
      "  a: { defualt: 1 }",
      "2:8: an input has no `defualt`; did you mean `default`?",
    ],
    [
      "a name that can't be read",
      "  a.b: 1",
      "2:3: an input's name begins with a letter or `_` and goes on with letters, digits, `_` and `-`",
    ],
    [
      "a number whose digits are lost",
      "  a: 02142",
      '2:6: this is read as the number 2142; as a text it keeps what is written: "02142"',
    ],
    [
      "a number that may be a version",
      "  a: 1.10\n  b: { options: [1.9, 2.10] }",
      '2:6: this is read as the number 1.1; as a text it keeps what is written: "1.10"',
      '3:23: this is read as the number 2.1; as a text it keeps what is written: "2.10"',
    ],
    [
      "a number beyond what numbers hold",
      "  a: { type: number, default: 9007199254740993 }\n  b: { type: number, default: 1.50 }",
      '2:31: this is read as the number 9007199254740992; as a text it keeps what is written: "9007199254740993"',
    ],
    [
      "another input in a default",
      '  a: 1\n  b: "${{ inputs.a }}"',
      "3:11: `inputs` can't be used here; env, run can",
    ],
  ] as const) {
    it(`are refused with ${why}`, () => assert.deepEqual(problems(inputs(yaml)), told));
  }
});

describe("an expression of a pipeline file", () => {
  it("may use what is there where it stands", () => {
    valid(`inputs: { a-b: 1 }
resources:
  shop: { type: http, base-url: "\${{ env.SHOP }}/\${{ inputs.a-b }}", headers: { x: "\${{ run.id }}" } }
  sh: { type: cli }
  db: { type: sql, url: "sqlite:\${{ inputs.a-b }}.db" }
steps:
  - { id: one, use: shop, get: /, each: [1, "\${{ inputs.a-b }}"], headers: { a: "\${{ each.index }}" } }
  - { id: two, use: shop, post: /, json: { "\${{ inputs.a-b }}": "\${{ steps.one[0].json.x }}" }, expect: { that: [this.status == 200, exists(this.json.a)] } }
  - { if: steps.two.outcome == 'succeeded', use: sh, run: [echo, "\${{ steps.one.*.status }}"], env: { A: "\${{ steps.two.headers.x-id }}" } }
  - { use: db, query: select ?, params: ["\${{ steps.two.json }}"], expect: { rows: [{ n: "\${{ steps.two.json.n }}" }] } }
finally:
  - { id: last, use: sh, run: ["\${{ steps.two.text }}"] }
outputs: { all: "\${{ steps.two.text }}" }`);
  });

  for (const [why, step, ...told] of [
    [
      "a later step's result",
      '{ use: sh, run: ["${{ steps.b.text }}"] }\n  - { id: b, use: sh, run: x }',
      "3:33: the step `b` comes later, so it has no result yet",
    ],
    [
      "its own step's result",
      '{ id: a, use: sh, run: ["${{ steps.a.text }}"] }',
      "3:40: `a` is this step, whose result is `this` in `expect.that`",
    ],
    [
      "a step that isn't there",
      '{ id: aa, use: sh, run: x }\n  - { use: sh, run: ["${{ steps.ab.text }}"] }',
      "4:33: no step has the id `ab`; did you mean `aa`?",
    ],
    [
      "a field that the type hasn't",
      '{ id: a, use: sh, run: x }\n  - { use: sh, run: ["${{ steps.a.json.x }}", "${{ steps.a.status }}"] }',
      "4:60: `steps.a` has no `status`; it has `exit-code`, `output`, `stdout`, `stderr`, `json`, `outcome`, `time`, `attempts`",
    ],
    [
      "a header in capitals",
      '{ id: a, use: shop, get: / }\n  - { use: sh, run: ["${{ steps.a.headers.Location }}"] }',
      "4:43: the names of headers are in lower case: `location`",
    ],
    [
      "one result of a list",
      '{ id: a, each: [1], use: sh, run: x }\n  - { use: sh, run: ["${{ steps.a.text }}"] }',
      "4:35: this step has `each`, so `steps.a` is a list: `steps.a[0].text`, or `steps.a.*.text` for all",
    ],
    [
      "an input that isn't declared",
      '{ use: sh, run: ["${{ inputs.x }}"] }',
      "3:34: there is no input `x`; the file has no `inputs`",
    ],
    [
      "`each` without one",
      '{ use: sh, run: ["${{ each.value }}"] }',
      "3:27: `each` is there only in a step with `each`",
    ],
    [
      "`this` outside `that`",
      "{ use: sh, if: this.status == 1, run: x }",
      "3:20: `this` is there only in `expect.that`",
    ],
    [
      "a variable by a name that only a run knows",
      "{ use: sh, if: \"env[run.id] == 'x'\", run: x }",
      "3:20: a variable is named in the file, such as `env.SHOP_TOKEN`, so that its value can be masked",
    ],
    [
      "braces in an expression",
      "{ use: sh, if: '${{ run.id }}', run: x }",
      "3:20: this is an expression already: leave out the `${{` and the `}}`",
    ],
    [
      "a field of a run that isn't there",
      '{ use: sh, run: ["${{ run.pipelin }}"] }',
      "3:31: a run has no `pipelin`; did you mean `pipeline`?",
    ],
    [
      "an input in a shell's text",
      "use: sh\n    run: |\n      echo one\n      echo ${{ run.id }}",
      "6:16: `run` can't be used here: pass it by `env: { NAME: … }` and write `\"$NAME\"`, so that it can't become a part of the script; a list of a program and its arguments takes it too",
    ],
    [
      "a result in a statement",
      '{ use: db, query: "select ${{ run.id }}" }',
      "3:35: `run` can't be used here: give it as a param, so that it can't change the statement",
    ],
    [
      "a value in a pattern",
      "{ use: sh, run: x, expect: { output: '/${{ run.id }}/' } }",
      "3:42: nothing can be filled in inside a regular expression",
    ],
    [
      "a value in an id",
      "{ id: 'a${{ run.id }}', use: sh, run: x }",
      "3:11: an `id` begins with a letter or `_` and goes on with letters, digits, `_` and `-`; nothing can be filled in here",
    ],
    ["a mark of its own", '{ use: sh, run: ["${{@0 run.id }}"] }', "3:26: `@` can't stand here"],
    [
      "how its own step ends, which is known only then",
      "{ use: sh, run: x, expect: { that: this.outcome == 'succeeded' } }",
      "3:45: `this` has no `outcome`; it has `exit-code`, `output`, `stdout`, `stderr`, `json`, `time`, `attempts`",
    ],
    [
      "a value in a CSS selector",
      "{ use: page, goto: /, actions: [{ click: { css: '#${{ run.id }}' } }], expect: { elements: [{ css: '${{ env.A }}', text: '${{ run.id }}' }] } }",
      "3:53: nothing can be filled in here",
      "3:104: nothing can be filled in here",
    ],
    [
      "a step that isn't there, in each place of a text",
      '{ use: sh, run: ["${{ steps.a }}, ${{ inputs.b }} and ${{ lenght(1) }}"] }',
      "3:33: no step has the id `a`; no step has an `id`",
      "3:50: there is no input `b`; the file has no `inputs`",
      "3:63: there is no function `lenght`; did you mean `length`?",
    ],
  ] as const) {
    it(`can't have ${why}`, () => assert.deepEqual(problems(steps(step)), told));
  }

  for (const run of [
    "[sh, -c, 'echo ${{ inputs.x }}']",
    "[/bin/bash, -ec, 'echo ${{ env.A }} ${{ inputs.x }}']",
    "[bash, -o, pipefail, -c, 'echo ${{ inputs.x }}', bash, '${{ inputs.x }}']",
    "[bash, -c, -e, '${{ inputs.x }}']",
    "[sudo, env, A=1, zsh, -lc, '${{ inputs.x }}']",
    "['C:\\x\\CMD.EXE', /d, /c, echo, '${{ inputs.x }}']",
    "[pwsh, -NoProfile, -Command, Get-Item, '${{ inputs.x }}']",
  ]) {
    it(`can't be a part of what a shell runs: ${run}`, () => {
      const file = `inputs: { x: y }\n${steps(`{ use: sh, run: ${run} }`)}`;
      const column = (file.split("\n")[3]?.indexOf("inputs.x") ?? 0) + 1;
      assert.deepEqual(problems(file), [
        `4:${column}: \`inputs\` can't be used here: pass it by \`env: { NAME: … }\` and let the script read the variable, such as \`"$NAME"\`, so that it can't become a part of the script`,
      ]);
    });
  }

  for (const run of [
    "[sh, -c, 'echo \"$1\" ${{ env.A }}', sh, '${{ inputs.x }}']",
    "[bash, deploy.sh, -c, '${{ inputs.x }}']",
    "[sh, -e, deploy.sh, '${{ inputs.x }}']",
    "[pwsh, -File, deploy.ps1, -Config, '${{ inputs.x }}']",
    "[echo, -c, '${{ inputs.x }}']",
  ]) {
    it(`may be a value beside a script: ${run}`, () => {
      valid(`inputs: { x: y }\n${steps(`{ use: sh, run: ${run} }`)}`);
    });
  }

  it("is let be where a run may never come to what is no condition", () => {
    const run = "\"${{ inputs.b || inputs.x }} ${{ inputs.b || 'y' }} ${{ !inputs.x }}\"";
    valid(`inputs: { b: true, x: y }\n${steps(`{ use: shop, get: /, headers: { a: ${run} } }`)}`);
  });

  for (const [why, step, ...told] of [
    [
      "a text as a condition",
      "{ if: inputs.x, use: sh, run: x }",
      "4:11: a condition is true or false, and `inputs.x` is a text: compare it, such as `inputs.x == '…'`",
    ],
    [
      "a number and a variable in one",
      "{ if: '!inputs.n || inputs.b && env.CI', use: sh, run: x }",
      "4:13: a condition is true or false, and `inputs.n` is a number: compare it, such as `inputs.n > 0`",
      "4:37: a condition is true or false, and `env.CI` is a text: compare it, such as `env.CI == '…'`",
    ],
    [
      "a choice between texts",
      "{ use: sh, run: [echo, \"${{ inputs.b && 'x' || 'y' }}\"] }",
      "4:45: `&&`, `||` and conditions take true and false only, and `'x'` is a text; two steps, each with its `if`, choose between values",
    ],
    [
      "a text in `that`",
      "{ use: sh, run: x, expect: { that: [inputs.b, inputs.x] } }",
      "4:51: a condition is true or false, and `inputs.x` is a text: compare it, such as `inputs.x == '…'`",
    ],
    [
      "a list without braces",
      "{ each: steps.a.json, use: sh, run: x }",
      "4:13: this takes a list, or one expression that is one: `${{ steps.a.json }}`",
    ],
    [
      "a list with more beside it",
      "{ each: ' ${{ fromJSON(inputs.x) }}', use: sh, run: x }",
      "4:13: this takes a list, or one expression that is one: `${{ steps.a.json.items }}`",
    ],
    [
      "an input as a list",
      "{ each: '${{ inputs.x }}', use: sh, run: x }",
      "4:18: `each` takes a list, and `inputs.x` is a text; one that is written as JSON is read by `fromJSON(inputs.x)`",
    ],
    [
      "a variable as a list",
      "{ each: '${{ env.LIST }}', use: sh, run: x }",
      "4:18: `each` takes a list, and `env.LIST` is a text; one that is written as JSON is read by `fromJSON(env.LIST)`",
    ],
  ] as const) {
    it(`can't have ${why}`, () =>
      assert.deepEqual(problems(`inputs: { x: y, n: 1, b: true }\n${steps(step)}`), told));
  }

  it("is warned of where an input goes into what is called a secret", () => {
    const parsed = parse(`inputs: { key: a, n: 1 }
resources: { shop: { type: http, base-url: "http://h.test", headers: { Authorization: "Bearer \${{ inputs.key }}" } }, sh: { type: cli } }
steps:
  - { use: shop, post: /, headers: { x-password: "\${{ inputs.key }}" }, expect: { headers: { x-token: "\${{ inputs.key }}" } } }
  - { use: shop, post: /, json: { a: { client_secret: ["\${{ upper(inputs.key) }}"], tokens: "\${{ inputs.key }}" } } }
  - { use: sh, run: x, env: { API_TOKEN: "\${{ inputs.n }}", B_TOKEN: "\${{ env.B }}" } }
`);
    assert.equal(parsed.kind, "valid", JSON.stringify(parsed));
    const told = (name: string, variable: string) =>
      `an input is shown and kept with the run, and \`${name}\` sounds like a secret: a variable is masked, such as \`\${{ env.${variable} }}\``;
    assert.deepEqual(
      parsed.warnings.map(({ line, column, message }) => [line, column, message]),
      [
        [2, 99, told("Authorization", "AUTHORIZATION")],
        [4, 55, told("x-password", "X_PASSWORD")],
        [5, 67, told("client_secret", "CLIENT_SECRET")],
      ],
    );
  });

  it("is warned of a script's variable that sounds like a secret and isn't named, so that it isn't masked", () => {
    const warned = (...lines: string[]) => {
      const parsed = parse(`resources: { sh: { type: cli } }\nsteps:\n${lines.join("\n")}\n`);
      assert.equal(parsed.kind, "valid", JSON.stringify(parsed));
      return parsed.warnings.map(({ line, column, message }) => [line, column, message]);
    };
    assert.deepEqual(warned('  - { use: sh, run: "curl -H $DEPLOY_TOKEN h.test" }'), [
      [
        3,
        30,
        '`$DEPLOY_TOKEN` sounds like a secret, and only a variable that the file names is masked: add `env: { DEPLOY_TOKEN: "${{ env.DEPLOY_TOKEN }}" }`',
      ],
    ]);
    for (const named of [
      '  - { use: sh, run: "echo $API_KEY", env: { API_KEY: "${{ env.API_KEY }}" } }',
      '  - { use: sh, run: "TOKEN=$(cat t); echo $TOKEN" }',
      '  - { use: sh, run: "read -r TOKEN < t; echo ${TOKEN}" }',
      '  - { use: sh, run: "echo $TOKENS $1" }',
      "  - use: sh\n    run: |\n      set -e\n      TOKEN=$(cat t)\n      echo $TOKEN",
      "  - use: sh\n    run: |\n      set -e\n      read -r TOKEN < t\n      echo $TOKEN",
      `  - { use: sh, run: 'echo \${API_TOKEN:=x}; awk "{ print $token }" f' }`,
    ])
      assert.deepEqual(warned(named), [], named);
  });

  it("is warned of what only GitHub Actions hands on from a script, unless the file says what it is", () => {
    const warned = (step: string) => {
      const parsed = parse(`resources: { sh: { type: cli } }\nsteps:\n  - { use: sh, ${step} }\n`);
      assert.equal(parsed.kind, "valid", JSON.stringify(parsed));
      return parsed.warnings.map(({ line, column, message }) => `${line}:${column}: ${message}`);
    };
    const says = (written: string, id = "<id>") =>
      `\`${written}\` is of GitHub Actions: print what later steps need, and they read it as \`\${{ steps.${id}.stdout }}\`, or from \`\${{ steps.${id}.json }}\` where it is JSON`;
    for (const [step, warning] of [
      ["id: v, run: 'echo v=1 >> $GITHUB_OUTPUT'", `3:41: ${says("$GITHUB_OUTPUT", "v")}`],
      ["run: 'echo A=1 >> \"${GITHUB_ENV}\"'", `3:35: ${says("${GITHUB_ENV}")}`],
      ["run: [sh, -c, 'echo v=1 >> $GITHUB_OUTPUT']", `3:43: ${says("$GITHUB_OUTPUT")}`],
      ["run: 'echo ::set-output name=v::1'", `3:27: ${says("::set-output")}`],
      ["id: v, each: [1], run: 'echo v=1 >> $GITHUB_OUTPUT'", `3:52: ${says("$GITHUB_OUTPUT", "v.*")}`],
      [
        "run: 'GITHUB_ENV=x; echo A=1 >> $GITHUB_ENV; echo b=1 >> $GITHUB_OUTPUT'",
        `3:73: ${says("$GITHUB_OUTPUT")}`,
      ],
      ["run: 'echo \"#1\" >> $GITHUB_OUTPUT'", `3:35: ${says("$GITHUB_OUTPUT")}`],
      ["run: 'echo \"a #1\" >> $GITHUB_OUTPUT'", `3:37: ${says("$GITHUB_OUTPUT")}`],
      [
        "run: 'echo /opt/bin >> $GITHUB_PATH'",
        '3:39: `$GITHUB_PATH` is of GitHub Actions: a folder of programs stands in `env`, such as `env: { PATH: "/opt/bin:${{ env.PATH }}" }` of the resource',
      ],
      [
        "run: 'echo done >> \"$GITHUB_STEP_SUMMARY\"'",
        "3:36: `$GITHUB_STEP_SUMMARY` is of GitHub Actions: what a step prints is in the run's log, and `keep` keeps a file with the run",
      ],
      [
        "run: 'echo ::add-mask::$(cat key)'",
        "3:27: `::add-mask` is of GitHub Actions: the step's `mask` hides what is secret in its result, such as `mask: [stdout]`",
      ],
    ] as const)
      assert.deepEqual(warned(step), [warning]);
    for (const step of [
      "run: 'echo v=1 >> $GITHUB_OUTPUT', env: { GITHUB_OUTPUT: out.txt }",
      "run: 'GITHUB_OUTPUT=$(mktemp); echo v=1 >> $GITHUB_OUTPUT'",
      "run: [echo, $GITHUB_OUTPUT]",
      "run: 'echo $GITHUB_REF'",
      "run: 'echo v=1 >> ${GITHUB_OUTPUT:-/dev/null}'",
      'run: \'if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then echo done >> "$GITHUB_STEP_SUMMARY"; fi\'',
      "run: 'echo v=1 # was ::set-output name=v::1'",
      'run: \'echo "v" # was "echo 1 >> $GITHUB_OUTPUT"\'',
    ])
      assert.deepEqual(warned(step), []);
  });

  it("is read in bounded time, whatever a script with a secret is made of", () => {
    for (const text of [
      `  - { use: sh, run: 'echo $TOKEN ${"for ".repeat(40_000)}' }`,
      `  - { use: sh, run: 'echo $TOKEN ${"$A".repeat(80_000)}' }`,
    ])
      assert.equal(parse(`resources: { sh: { type: cli } }\nsteps:\n${text}\n`).kind, "valid");
    const repeated = `a: &a { ${"k".repeat(200_000)}: 1 }\nb: [${Array(400).fill("*a").join(", ")}]\n`;
    assert.equal(
      parse(`${repeated}resources: { sh: { type: cli } }\nsteps: [{ use: sh, run: echo $TOKEN }]\n`).kind,
      "invalid",
    );
  });

  it("is told where `mask` names no part of a step's result", () => {
    assert.deepEqual(
      problems(
        'resources: { shop: { type: http, base-url: "http://h.test" }, db: { type: sql, url: "sqlite:a.db" } }\nsteps:\n  - { use: shop, get: /, mask: [json.a, token, $.key] }\n  - { use: db, query: select 1, mask: [row] }',
      ),
      [
        "3:41: `this` has no `token`; it has `status`, `headers`, `cookies`, `text`, `json`, `time`, `attempts`; in its JSON it would be `json.token`",
        "3:48: `$` can't stand here; in its JSON it would be `json.key`",
        "4:40: `this` has no `row`; did you mean `rows`?",
      ],
    );
  });

  it("is warned of a file that isn't there, unless a program may make it", () => {
    const text = `resources: { shop: { type: http, base-url: "http://h.test", openapi: api.yaml, tls: { ca: ca.pem } }, sh: { type: cli } }
steps:
  - { use: sh, run: serve, background: true }
  - { use: shop, post: /, file: there.json, expect: { json-schema: order.json } }
  - { use: shop, post: /, multipart: { a: { file: a.png }, b: { file: there.json } } }
`;
    const isThere = (path: string) => path === "there.json";
    const parsed = parsePipeline(text, "checkout.yaml", undefined, isThere);
    assert.equal(parsed.kind, "valid", JSON.stringify(parsed));
    const told = (path: string) => `\`${path}\` isn't in the project's folder, and no step makes it`;
    assert.deepEqual(
      parsed.warnings.map(({ line, column, message }) => [line, column, message]),
      [
        [1, 70, told("api.yaml")],
        [1, 91, told("ca.pem")],
        [4, 68, told("order.json")],
        [5, 51, told("a.png")],
      ],
    );
    const made = parsePipeline(`${text}  - { use: sh, run: make }\n`, "checkout.yaml", undefined, isThere);
    assert.deepEqual(made.kind === "valid" && made.warnings, []);
  });

  it("is warned of the braces of other tools, but not where a program may have its own", () => {
    const parsed = parse(`inputs: { id: a }
resources: { shop: { type: http, base-url: "http://{{host}}", headers: { x-a: "{{ token }}" } }, sh: { type: cli, env: { A: "{{b}}" } }, db: { type: sql, url: "sqlite::memory:" } }
steps:
  - { use: shop, post: "/\${{ inputs.id }}/{{ vars.user }}", json: { a: ["{{steps.login.res.body.token}}"] }, expect: { text: "{{id}}" } }
  - { use: shop, post: /, json: "$\${{ a }} \${{ format('{{0}}') }} {{#each a}} {{{}}} {{" }
  - { use: sh, run: "docker inspect --format '{{.Id}} {{id}}' a" }
  - { use: db, query: "select '{{.lamp}}'" }
`);
    assert.equal(parsed.kind, "valid", JSON.stringify(parsed));
    const told = (braces: string, ways: string) => `\`${braces}\` isn't filled in here: write ${ways}`;
    const orStep = ", or `${{ steps.<id>… }}` for what an earlier step gave";
    assert.deepEqual(
      parsed.warnings.map(({ line, column, message }) => [line, column, message]),
      [
        [2, 52, told("{{host}}", "`${{ inputs.host }}` or `${{ env.HOST }}`")],
        [2, 80, told("{{ token }}", "`${{ inputs.token }}` or `${{ env.TOKEN }}`")],
        [4, 43, told("{{ vars.user }}", `\`\${{ inputs.user }}\`, \`\${{ env.USER }}\`${orStep}`)],
        [
          4,
          74,
          told("{{steps.login.res.body.token}}", `\`\${{ inputs.token }}\`, \`\${{ env.TOKEN }}\`${orStep}`),
        ],
        [
          7,
          32,
          "`{{.lamp}}` isn't filled in here: give it as a param, so that it can't change the statement",
        ],
      ],
    );
  });

  it("is warned of what may take longer than the run", () => {
    const warnings = (limit: string) => {
      const parsed = parse(`${limit}
resources: { sh: { type: cli } }
steps:
  - { use: sh, run: "a", timeout: 30s }
  - { use: sh, run: "b", timeout: 1m }
  - { use: sh, run: "c", retry: { for: 2m, every: 1s } }
finally: [{ use: sh, run: "d", timeout: 31 }]
`);
      assert.equal(parsed.kind, "valid", JSON.stringify(parsed));
      return parsed.warnings.map(({ line, column, message }) => `${line}:${column}: ${message}`);
    };
    const shown = (places: readonly string[], limit: string) =>
      places.map((place) => `${place}: the run ends after ${limit}: set \`time-limit\` to more`);
    assert.deepEqual(warnings(""), shown(["5:35", "6:40", "7:41"], "30s"));
    assert.deepEqual(warnings("time-limit: 60s"), shown(["6:40"], "60s"));
  });

  it("is warned of a shell's variables, but not where the text may mean them", () => {
    const parsed = parse(`inputs: { id: a }
resources: { shop: { type: http, base-url: "http://h.test", headers: { authorization: Bearer $SHOP_TOKEN, from: "\${SHOP_USER:-me}", to: "\${SHOP:?is missing}", via: "\${SHOP:+set}" } }, sh: { type: cli, env: { A: "$HOME/bin {{b}}" } }, page: { type: browser } }
steps:
  - { use: shop, post: "/\${id}", json: { $set: "$$A $a $5 $ABC_$1 \${a.b}", query: "query ($FIRST: Int) { lamps(first: $FIRST) { id } }" } }
  - { use: sh, run: "echo $HOME \${HOME}" }
  - { use: page, goto: "http://h.test", actions: [{ evaluate: "() => \`\${window.a}\${b}\`" }] }
`);
    assert.equal(parsed.kind, "valid", JSON.stringify(parsed));
    assert.deepEqual(
      parsed.warnings.map(({ message }) => message),
      [
        "`$SHOP_TOKEN` isn't filled in here: write `${{ env.SHOP_TOKEN }}`",
        "`${SHOP_USER:-me}` isn't filled in here: write `${{ default(env.SHOP_USER, 'me') }}`",
        "`${SHOP:?is missing}` isn't filled in here: write `${{ env.SHOP }}`",
        "`$HOME` isn't filled in here: write `${{ env.HOME }}`",
        "`${id}` isn't filled in here: write `${{ inputs.id }}`",
      ],
    );
  });

  it("is warned of a variable in a path as Postman and OpenAPI write it", () => {
    const parsed =
      parse(`resources: { shop: { type: http, base-url: "http://h.test:80/:tenant" }, page: { type: browser } }
steps:
  - { use: shop, get: "/users/:id", query: { a: "/:b", c: "{d}" }, headers: { e: "/:f" } }
  - { use: shop, request: { method: PURGE, path: "/pets/{petId}.json" } }
  - { use: page, goto: "http://h.test/:lamp?a" }
  - { use: shop, get: "http://h.test:80/v1/docs:runQuery/7:cancel?to=/:id&fields=friends{name}#{a}" }
  - { use: shop, post: "/\${{ env.A }}:id/urn:isbn:1/:7/12:30/{}", json: { a: "/:id" } }
`);
    assert.equal(parsed.kind, "valid", JSON.stringify(parsed));
    assert.deepEqual(
      parsed.warnings.map(({ line, column, message }) => `${line}:${column}: ${message.split(" isn't")[0]}`),
      ["1:62: `:tenant`", "3:31: `:id`", "4:57: `{petId}`", "5:39: `:lamp`"],
    );
  });

  it("is warned of a comparison whose result is certain, since nothing is converted", () => {
    const parsed = parse(`inputs: { debug: false, n: 2, region: { options: [eu, us], default: eu } }
resources: { sh: { type: cli }, page: { type: browser } }
steps:
  - { id: a, use: sh, run: echo, expect: { that: "this.exit-code != '0'" } }
  - { use: sh, if: "inputs.debug == 'true'", run: echo }
  - { use: sh, if: "exists(env.A) && 'ue' == inputs.region", run: echo }
  - { use: sh, if: "!(steps.a.outcome == 'success')", run: echo }
  - { use: sh, if: "env.CI == true || env.NODE == 3.10", run: echo }
  - { use: sh, if: "env.COUNT == inputs.n", run: echo }
  - { use: sh, run: [echo, "\${{ contains('a', 'b') == 'yes' }}"] }
`);
    assert.equal(parsed.kind, "valid", JSON.stringify(parsed));
    assert.deepEqual(
      parsed.warnings.map(({ line, column, message }) => `${line}:${column}: ${message}`),
      [
        "4:51: `this.exit-code != '0'` is always true: `this.exit-code` is a number; compare it with `0`",
        "5:21: `inputs.debug == 'true'` is always false: `inputs.debug` is true or false; compare it with `true`",
        "6:38: `'ue' == inputs.region` is always false: `inputs.region` is one of `eu`, `us`",
        "7:23: `steps.a.outcome == 'success'` is always false: `steps.a.outcome` is one of `succeeded`, `failed`, `skipped`",
        "8:21: `env.CI == true` is always false: `env.CI` is a text; compare it with `'true'`",
        "8:39: `env.NODE == 3.10` is always false: `env.NODE` is a text; compare it with `'3.10'`",
        "9:21: `env.COUNT == inputs.n` is always false: `env.COUNT` is a text, and `inputs.n` a number; `text(…)` makes a text of either",
        "10:33: `contains('a', 'b') == 'yes'` is always false: `contains('a', 'b')` is true or false",
      ],
    );
    const fine = parse(`inputs: { debug: false, n: 2, region: { options: [eu, us] }, free: a }
resources: { sh: { type: cli }, page: { type: browser } }
steps:
  - { id: a, use: sh, each: [1], run: echo, on-failure: continue }
  - { id: p, use: page, goto: "http://h.test", read: { heading: { css: h1 } } }
  - { use: sh, if: "inputs.debug == false && inputs.n != 3 && inputs.region == 'us' && inputs.free == 'b'", run: echo }
  - { use: sh, if: "steps.a[0].outcome == 'failed' && steps.p.heading == 1 && steps.p.title == null", run: echo }
  - { use: sh, run: echo, expect: { that: ["this.json == '1'", "this.exit-code == 0", "default(env.A, '1') == 1"] } }
`);
    assert.equal(fine.kind, "valid", JSON.stringify(fine));
    assert.deepEqual(fine.warnings, []);
  });

  it("is told how a condition is written that has another tool's braces or a shell's variable", () => {
    assert.deepEqual(
      problems(`inputs: { ok: true }
resources: { sh: { type: cli } }
steps:
  - { use: sh, run: echo, if: "{{ok}}" }
  - { use: sh, run: echo, if: "$RUN_IT == '1'" }
  - { use: sh, run: echo, if: "'$RUN_IT' == '{{ok}}'", expect: { that: "1 == {{ steps.a.stdout }}" } }
`),
      [
        "4:31: `{{ok}}` isn't filled in here: write `inputs.ok`",
        "5:31: `$RUN_IT` isn't filled in here: write `env.RUN_IT` or `steps.<id>…` for what an earlier step gave",
        "6:78: `{{ steps.a.stdout }}` isn't filled in here: write `steps.a.stdout`",
      ],
    );
  });

  it("is told of other tools' braces where these are why a value is refused", () => {
    assert.deepEqual(
      problems(`inputs: { n: 1 }
resources:
  shop: { type: http, base-url: "{{baseUrl}}/api", proxy: "$HTTP_PROXY" }
  db: { type: sql, url: "{{.dsn}}" }
  sh: { type: cli, timeout: "{{limit}}" }
steps:
  - { use: shop, request: { method: "{{verb}}", path: / } }
  - { use: shop, get: "{{base}}/x", redirects: "\${{ inputs.n }}", expect: { status: "{{status}}" } }
  - { use: shop, get: /, retry: { times: "\${{ inputs.n }}" } }
`),
      [
        "3:33: `{{baseUrl}}` isn't filled in here: write `${{ inputs.baseUrl }}` or `${{ env.BASE_URL }}`",
        "3:59: `$HTTP_PROXY` isn't filled in here: write `${{ env.HTTP_PROXY }}`",
        "4:25: `{{.dsn}}` isn't filled in here: write `${{ inputs.dsn }}` or `${{ env.DSN }}`",
        "5:29: expected a length of time such as 500ms, 60s, 5m or 1h, or a number of seconds; nothing can be filled in here",
        "7:37: `{{verb}}` isn't filled in here: write `${{ inputs.verb }}`, `${{ env.VERB }}`, or `${{ steps.<id>… }}` for what an earlier step gave",
        "8:48: expected a number; nothing can be filled in here",
        "8:85: expected a number from 100 to 599, or a kind of status such as 2xx; nothing can be filled in here",
        "9:42: expected a number; nothing can be filled in here",
      ],
    );
  });

  it("of `outputs` can't have what a step of `finally` gives, which runs later", () => {
    assert.deepEqual(
      problems(
        `${steps(fine)}finally: [{ id: last, use: sh, run: x }]\noutputs: { all: "\${{ steps.last.stdout }}" }`,
      ),
      ["5:28: `outputs` are taken before `finally`, so the step `last` has no result yet"],
    );
  });

  it("lists each id once that there is, also one that is there twice", () => {
    assert.equal(
      problems(
        steps(
          "{ id: aa, use: sh, run: x }",
          "{ id: aa, use: sh, run: x }",
          "{ use: sh, if: steps.zz, run: x }",
        ),
      )[1],
      "5:26: no step has the id `zz`; there is `aa`",
    );
  });

  it("needs quotes where a comma would end it, and says so", () => {
    assert.deepEqual(
      problems(
        steps(
          "{ use: sh, run: x, expect: { that: contains(this.stdout, 'a') } }",
          "{ use: sh, run: x, if: default(env.A, env.B) == 'x' }",
        ),
      ),
      ["3:40: put this value in quotes: it contains `,`", "4:28: put this value in quotes: it contains `,`"],
    );
  });

  it("is told of at the same place in a quoted text and in one with line breaks", () => {
    assert.deepEqual(
      problems(
        steps(
          "{ use: sh, run: ['it''s ${{ inputs.x }}', \"a\\tb ${{ inputs.y }}\"] }",
          "use: sh\n    env:\n      A: >-\n        one\n        ${{ inputs.z }}\n    run: x",
        ),
      ),
      [
        "3:40: there is no input `x`; the file has no `inputs`",
        "3:64: there is no input `y`; the file has no `inputs`",
        "8:20: there is no input `z`; the file has no `inputs`",
      ],
    );
  });
});

describe("what is done around a step", () => {
  it("is planned as it is written", () => {
    const [step] = valid(
      steps(
        "{ id: a, if: run.id != 'x', each: [1], retry: { for: 30s, times: 5, every: 500ms }, on-failure: continue, mask: [json.token], use: shop, get: /, expect: { that: this.status == 200 } }",
      ),
    ).steps;
    const { id, if: condition, each, retry, goesOn, mask, that } = step ?? assert.fail();
    assert.deepEqual(
      { id, condition, each, retry, goesOn, mask, that },
      {
        id: "a",
        condition: "run.id != 'x'",
        each: [1],
        retry: { forMilliseconds: 30_000, times: 5, everyMilliseconds: 500 },
        goesOn: true,
        mask: ["json.token"],
        that: ["this.status == 200"],
      },
    );
  });

  for (const [why, step, ...told] of [
    [
      "a retry without an end",
      "{ use: sh, run: x, retry: { every: 1s } }",
      "3:31: `retry` needs `for`, a length of time, or `times`, a number of attempts",
    ],
    [
      "another way to go on",
      "{ use: sh, run: x, on-failure: ignore }",
      "3:36: expected `continue`; without it, the run ends here",
    ],
    [
      "an id twice",
      "{ id: a, use: sh, run: x }\n  - { id: a, use: sh, run: x }",
      "4:11: another step has the id `a` already",
    ],
    [
      "a condition that is no expression",
      "{ use: sh, run: x, if: a b }",
      "3:28: there is no `a`; a text is written `'a'`, and a path begins with env, inputs, steps, run",
    ],
  ] as const) {
    it(`is refused with ${why}`, () => assert.deepEqual(problems(steps(step)), told));
  }

  it("comes last where it cleans up, within the time limit", () => {
    const pipeline = valid(
      `time-limit: 10s\nfinally-limit: 2s\n${resources}\nfinally: [{ use: sh, run: rm }]\nsteps: [{ use: sh, run: x }]\n`,
    );
    assert.deepEqual(
      pipeline.steps.map(({ name, isCleanup }) => [name, isCleanup]),
      [
        ["x", undefined],
        ["rm", true],
      ],
    );
    assert.equal(pipeline.cleanupMilliseconds, 2000);
    assert.deepEqual(problems(`time-limit: 5s\n${resources}\nsteps: [${fine}]\nfinally: [${fine}]`), [
      "1:13: `finally`, here or in a part, takes 5s of the time limit, which is 5s: set `finally-limit`",
    ]);
    assert.deepEqual(
      problems(`time-limit: 5s\nsteps: [{ include: a.yaml }]`, {
        "a.yaml": `${resources}\nsteps: [${fine}]\nfinally: [${fine}]`,
      }),
      ["1:13: `finally`, here or in a part, takes 5s of the time limit, which is 5s: set `finally-limit`"],
    );
    assert.deepEqual(problems(`finally-limit: 5s\n${resources}\nsteps: [${fine}]`), [
      "1:1: there is no `finally` that it could limit",
    ]);
  });
});

describe("a part", () => {
  const login = `inputs: { user: }
resources: { shop: { type: http, base-url: "http://other.test" }, sh: { type: cli } }
steps:
  - { id: sent, use: shop, post: /login, json: { user: "\${{ inputs.user }}" } }
finally: [{ use: sh, run: logout }]
outputs: { token: "\${{ steps.sent.json.token }}" }
`;
  const including = (line: string, ...more: readonly string[]) => steps(line, ...more);

  it("is put in its place, works with the includer's resources, and cleans up after it", () => {
    const pipeline = valid(
      `inputs: { host: h }
resources: { shop: { type: http, base-url: "http://\${{ inputs.host }}", headers: { t: "\${{ env.T }}" } } }
steps:
  - { id: login, include: parts/login.yaml, inputs: { user: "\${{ run.id }}" } }
  - { use: shop, get: "/\${{ steps.login.token }}" }
finally: [{ use: shop, get: /end }]
`,
      { "parts/login.yaml": login },
    );
    assert.deepEqual(
      pipeline.steps.map((step) => [
        step.name,
        step.part,
        step.isCleanup,
        step.type === "http" ? step.address.base : "",
      ]),
      [
        ["login: POST /login", 0, undefined, "http://${{@0  inputs.host }}"],
        ["GET /${{ steps.login.token }}", undefined, undefined, "http://${{ inputs.host }}"],
        ["GET /end", undefined, true, "http://${{ inputs.host }}"],
        ["login: logout", 0, true, ""],
      ],
    );
    assert.deepEqual(pipeline.parts, [
      {
        name: "login",
        id: "login",
        given: { user: "${{ run.id }}" },
        inputs: [{ name: "user", type: "text" }],
        outputs: { token: "${{ steps.sent.json.token }}" },
      },
    ]);
    assert.deepEqual(pipeline.resources, [
      { name: "shop", type: "http" },
      { name: "sh", type: "cli" },
    ]);
  });

  it("keeps the fields of its resource that the includer's says nothing of", () => {
    const [step] = valid(
      `resources: { s: { type: http, base-url: "http://outer.test", headers: { a: "1" } } }\nsteps: [{ include: p.yaml }]`,
      {
        "p.yaml":
          'resources: { s: { type: http, base-url: "http://own.test", headers: { a: "2", b: "3" }, timeout: 1s } }\nsteps: [{ use: s, get: / }]',
      },
    ).steps;
    assert.ok(step?.type === "http");
    assert.deepEqual(
      [step.address.base, step.ofResource.headers, step.timeoutMilliseconds],
      ["http://outer.test", { a: "1", b: "3" }, 1000],
    );
  });

  it("may include parts itself, up to 5 deep", () => {
    const chain = (depth: number): Files =>
      Object.fromEntries(
        Array.from({ length: depth }, (_, index) => [
          `p${index + 1}.yaml`,
          index + 1 === depth ? steps(fine) : `steps: [{ include: p${index + 2}.yaml }]`,
        ]),
      );
    assert.deepEqual(
      valid("steps: [{ include: p1.yaml }]", chain(5)).parts?.map(({ parent }) => parent),
      [undefined, 0, 1, 2, 3],
    );
    assert.match(
      problems("steps: [{ include: p1.yaml }]", chain(6))[0] ?? "",
      /parts include parts at most 5 deep/,
    );
  });

  for (const [why, line, files, ...told] of [
    [
      "that isn't there",
      "{ include: parts/x.yaml }",
      {},
      "3:16: `parts/x.yaml` can't be read: it isn't there",
    ],
    [
      "by a path from the folder of who includes it",
      "{ include: parts/a.yaml }",
      { "parts/a.yaml": "steps: [{ include: b.yaml }]", "parts/b.yaml": "steps: []" },
      "3:16: `parts/a.yaml` can't be run: line 1, column 20: `b.yaml` can't be read: it isn't there; from the project's folder it is `parts/b.yaml`",
    ],
    [
      "that includes itself",
      "{ include: a.yaml }",
      { "a.yaml": "steps: [{ include: b.yaml }]", "b.yaml": "steps: [{ include: a.yaml }]" },
      "3:16: `a.yaml` can't be run: line 1, column 20: `b.yaml` can't be run: line 1, column 20: `a.yaml` includes itself",
    ],
    [
      "with a problem",
      "{ include: a.yaml }",
      { "a.yaml": "steps:\n  - { use: x, run: y }" },
      "3:16: `a.yaml` can't be run: line 2, column 12: there is no resource `x`: the file has no `resources`",
    ],
    [
      "out of the project",
      "{ include: ../a.yaml }",
      {},
      "3:16: this leads out of the project's folder; name a file by its path from there, such as `parts/login.yaml`",
    ],
    [
      "whose path only a run knows",
      "{ include: '${{ run.id }}.yaml' }",
      {},
      "3:16: a part's path is fixed, so that its steps are known before the run",
    ],
    [
      "without what it needs",
      "{ include: a.yaml }",
      { "a.yaml": login },
      "3:16: the part needs `user`: give it by `inputs`",
    ],
    [
      "with an input that it hasn't",
      "{ include: a.yaml, inputs: { usr: x, user: y } }",
      { "a.yaml": login },
      "3:34: the part has no input `usr`; did you mean `user`?",
    ],
    [
      "with an input of another type",
      "{ include: a.yaml, inputs: { user: 7 } }",
      { "a.yaml": login },
      "3:40: the part's input is a text",
    ],
    [
      "with a word of other steps",
      "{ include: a.yaml, retry: { times: 2 }, inputs: { user: y } }",
      { "a.yaml": login },
      "3:24: a step with `include` has no `retry`: its steps have their own",
    ],
    [
      "whose output isn't there",
      '{ id: a, include: a.yaml, inputs: { user: y } }\n  - { use: sh, run: ["${{ steps.a.tokn }}"] }',
      { "a.yaml": login },
      "4:35: `steps.a` has no `tokn`; did you mean `token`?",
    ],
  ] as const) {
    it(`${why} is refused`, () => assert.deepEqual(problems(including(line), files), told));
  }

  it("may stand in `finally`, where its own cleanup follows its steps", () => {
    const text = steps(fine, "{ include: b.yaml }").replace(
      "steps:",
      "finally: [{ include: a.yaml }, { use: sh, run: z }]\nsteps:",
    );
    const part = (name: string) =>
      steps(`{ name: ${name}, use: sh, run: x }`).replace(
        "steps:",
        `finally: [{ name: end ${name}, use: sh, run: y }]\nsteps:`,
      );
    const pipeline = valid(text, { "a.yaml": part("a"), "b.yaml": part("b") });
    const cleanup = pipeline.steps.filter(({ isCleanup }) => isCleanup).map(({ name }) => name);
    assert.deepEqual(cleanup, ["a.yaml: a", "a.yaml: end a", "z", "b.yaml: end b"]);
  });

  it("has at most 500 steps together with others, however they multiply", () => {
    const ten = (path: string) =>
      `steps: [${Array.from({ length: 10 }, () => `{ include: ${path} }`).join(", ")}]`;
    const files = {
      "a.yaml": ten("b.yaml"),
      "b.yaml": ten("c.yaml"),
      "c.yaml": steps(...Array.from({ length: 10 }, () => fine)),
    };
    assert.match(problems("steps: [{ include: a.yaml }]", files)[0] ?? "", /at most 500 steps/);
  });

  it("is left open where the project's files aren't known", () => {
    const parsed = parsePipeline(
      steps(fine, "{ id: a, include: a.yaml }", '{ use: sh, run: ["${{ steps.a.any }}"] }'),
      "a.yaml",
    );
    assert.equal(parsed.kind, "valid", JSON.stringify(parsed));
  });
});

describe("a run that begins with a later step", () => {
  const file = valid(
    steps(
      "{ id: a, use: sh, run: x }",
      "{ name: b, use: sh, run: x }",
      '{ name: c, use: sh, run: ["${{ steps.a.stdout }}"] }',
    ).replace("steps:", 'finally: [{ use: sh, run: ["${{ steps.a.stdout }}"] }]\nsteps:'),
  );

  it("is refused where one from there on uses what it would skip", () => {
    assert.equal(skippedUse(file, 1), "`c` uses the result of the step `a`, which would be skipped");
    assert.equal(skippedUse(file, 0), undefined);
  });

  it("reads only a step's own `if` and `that` as expressions", () => {
    const pipeline = valid(
      steps(
        "{ id: a, use: sh, run: x }",
        "{ use: shop, post: /, json: { that: steps.a.stdout, if: \"steps.a.stdout == 'x'\" } }",
        "{ name: c, use: shop, get: /, expect: { that: this.text == steps.a.stdout } }",
      ),
    );
    assert.equal(skippedUse({ ...pipeline, steps: pipeline.steps.slice(0, 2) }, 1), undefined);
    assert.equal(skippedUse(pipeline, 1), "`c` uses the result of the step `a`, which would be skipped");
  });

  it("is refused behind a program in the background, which ends with its run", () => {
    const shop = "{ name: shop, use: sh, run: x, background: true }";
    const refused = "`shop`, whose program later steps may need, would be skipped";
    const behind = valid(steps(fine, shop, fine));
    assert.deepEqual(
      [0, 1, 2].map((first) => skippedUse(behind, first)),
      [undefined, undefined, refused],
    );
    const run = { status: "failed", stoppedAt: "2026-03-03T10:00:00Z" };
    const ran = (...statuses: string[]) =>
      statuses.map((status, index) => ({ name: `${index}`, type: "cli", status }));
    assert.equal(stepToResumeAt({ ...run, steps: ran("succeeded", "failed") }, behind)?.index, 1);
    const failed = { ...run, steps: ran("succeeded", "succeeded", "failed") };
    assert.equal(stepToResumeAt(failed, behind), undefined);
    assert.equal(stepToResumeAt(failed, valid(steps(fine, "{ use: sh, run: x & }", fine))), undefined);
    assert.equal(stepToResumeAt(failed, valid(steps(fine, fine, fine)))?.index, 2);
  });

  it("does without what only the cleanup uses", () => {
    const other = valid(
      steps("{ id: a, use: sh, run: x }", fine).replace(
        "steps:",
        "finally: [{ if: exists(steps.a.stdout), use: sh, run: x }]\nsteps:",
      ),
    );
    assert.equal(skippedUse(other, 1), undefined);
  });

  it("is refused with a step that cleans up", () => {
    assert.equal(skippedUse(file, 3), "it is a step of `finally`, which runs in the end of every run");
  });

  it("is refused in the middle of a part, and where a part uses what it would skip", () => {
    const part = `inputs: { t: }\n${steps(fine, fine)}`;
    const pipeline = valid(
      steps(
        "{ id: a, use: sh, run: x }",
        "{ name: p, include: p.yaml, inputs: { t: '${{ steps.a.text }}' } }",
      ).replace("text }}", "stdout }}"),
      { "p.yaml": part },
    );
    assert.equal(skippedUse(pipeline, 1), "`p` uses the result of the step `a`, which would be skipped");
    assert.equal(skippedUse(pipeline, 2), "it is a step of `p`, which begins with its first step");
  });
});
