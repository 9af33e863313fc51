// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import assert from "node:assert/strict";
import fc from "fast-check";
import { inAddress, joinAddress } from "../../src/pipeline/file/address.ts";
import { formatProblem } from "../../src/pipeline/mistakes/problem.ts";
import { parsePipeline } from "../../src/pipeline/parsePipeline.ts";
import type { Pipeline } from "../../src/pipeline/pipeline.ts";

const oneStep = "resources: { sh: { type: cli } }\nsteps: [{ use: sh, run: echo }]";

describe("a pipeline file that can be run", () => {
  it("takes its name from the file and 30 seconds as its limit", () => {
    const pipeline = valid(
      "resources: { sh: { type: cli } }\nsteps: [{ use: sh, run: echo hi }]",
      "/some/where/nightly.yaml",
    );
    assert.equal(pipeline.name, "nightly");
    assert.equal(pipeline.timeLimitSeconds, 30);
    assert.deepEqual(pipeline.resources, [{ name: "sh", type: "cli" }]);
    assert.deepEqual(pipeline.steps, [
      {
        type: "cli",
        name: "echo hi",
        use: "sh",
        run: "echo hi",
        cwd: ".",
        env: {},
        expect: { exitCode: 0, output: undefined, stdout: undefined, stderr: undefined },
      },
    ]);
  });

  it("reads a time limit in every way that it can be written", () => {
    for (const [written, seconds] of [
      ["60s", 60],
      ["5m", 300],
      ["1h", 3600],
      ["90", 90],
      ["1.5m", 90],
      ["2000ms", 2],
    ]) {
      assert.equal(valid(`time-limit: ${written}\n${oneStep}`).timeLimitSeconds, seconds, String(written));
    }
  });

  it("takes its file of variables as written, and has none by default", () => {
    for (const path of [".env", "config/.env.test", "./..env", "a..b/c"]) {
      assert.equal(valid(`env-file: ${path}\n${oneStep}`).envFile, path);
    }
    assert.equal(valid(oneStep).envFile, undefined);
  });

  it("settles an http step against its resource", () => {
    const pipeline = valid(`
resources:
  shop: { type: http, base-url: http://127.0.0.1:8080/api/, headers: { Accept: text/plain, X-Shop: 1.10 }, timeout: 2s }
steps:
  - use: shop
    post: /orders
    headers: { accept: application/json }
    json: { lamp: 1, note: null }
    expect: { status: 201, headers: { Location: /orders/ }, json: null, text: lamp, time: 500ms }
  - { name: elsewhere, use: shop, get: "https://example.test/x", timeout: 5, expect: { status: 3xx } }
`);
    const asByDefault = {
      query: {},
      auth: undefined,
      ofResource: { headers: { accept: "text/plain", "x-shop": "1.10" }, auth: undefined },
      cookies: true,
      redirects: 10,
      connection: { tls: { verify: true }, proxy: undefined, connectTo: {} },
      openApi: undefined,
      keep: true,
    };
    assert.deepEqual(pipeline.steps, [
      {
        type: "http",
        name: "POST /orders",
        use: "shop",
        method: "POST",
        address: { base: "http://127.0.0.1:8080/api/", target: "/orders" },
        ...asByDefault,
        headers: { accept: "application/json" },
        body: { kind: "json", value: { lamp: 1, note: null } },
        timeoutMilliseconds: 2000,
        expect: {
          status: { from: 201, to: 201 },
          headers: { location: [{ kind: "matches", source: "orders", flags: "" }] },
          json: { value: null },
          jsonSchema: undefined,
          sha256: undefined,
          text: [{ kind: "contains", text: "lamp" }],
          withinMilliseconds: 500,
        },
      },
      {
        type: "http",
        name: "elsewhere",
        use: "shop",
        method: "GET",
        address: { base: "http://127.0.0.1:8080/api/", target: "https://example.test/x" },
        ...asByDefault,
        headers: {},
        redirects: 0,
        body: { kind: "none" },
        timeoutMilliseconds: 5000,
        expect: {
          status: { from: 300, to: 399 },
          headers: {},
          json: undefined,
          jsonSchema: undefined,
          sha256: undefined,
          text: undefined,
          withinMilliseconds: undefined,
        },
      },
    ]);
  });

  it("joins a path to an address that has a query, and fills references in within both", () => {
    for (const [base, target, joined] of [
      ["http://h.test/api?code=k1", "/health", "http://h.test/api/health?code=k1"],
      ["http://h.test/api/?code=k1#top ", "health?a=1#b", "http://h.test/api/health?code=k1&a=1#b"],
      ["http://h.test", "?a=1", "http://h.test/?a=1"],
      ["http://h.test/a?", "/b", "http://h.test/a/b"],
      [undefined, "http://h.test/a?b#c", "http://h.test/a?b#c"],
      ["http://h.test", "https://other.test", "https://other.test"],
    ] as const) {
      assert.equal(joinAddress({ base, target }), joined);
    }
    for (const [before, value, shown] of [
      ["", "http://h.test/a?b", "http://h.test/a?b"],
      ["http://", "h.test:80", "h.test:80"],
      ["/users/", "a/b?", "a%2Fb%3F"],
      ["http://h.test/?q=", "lamp & c#", "lamp%20%26%20c%23"],
      ["/orders/", "7:cancel@$&+,;=", "7:cancel@$&+,;="],
      ["/users/", "..", undefined],
      ["/users/%2e", ".", undefined],
      ["/v1", ".", "."],
      ["/v1.", "..", ".."],
      ["/users/?at=", ".", "."],
    ] as const) {
      assert.equal(inAddress(before, value), shown);
    }
  });

  it("sends and expects no number but the one that is written", () => {
    const file = (json: string) =>
      `resources: { s: { type: http, base-url: http://h.test } }\nsteps: [{ use: s, post: /, json: ${json} }]\n`;
    for (const fine of ["1.50", "-0.5", "0", "1e300", "1.5e3", "9007199254740991", '"02142"']) {
      valid(file(`[${fine}]`));
    }
    for (const [written, read] of [
      ["02142", "2142"],
      ["+41446681800", "41446681800"],
      ["12e5", "1200000"],
      ["0x1F", "31"],
      ["990000000262240065", "990000000262240100"],
      ["0.12345678901234567890", "0.12345678901234568"],
    ]) {
      assert.deepEqual(invalid(file(`{ a: ${written} }`)), [
        `2:39: this is read as the number ${read}; as a text it keeps what is written: "${written}"`,
      ]);
    }
  });

  it("sends no header that HTTP can't carry, or that belongs to the connection", () => {
    assert.deepEqual(
      invalid(
        'resources: { s: { type: http, base-url: http://h.test, headers: { keep-alive: 1 } } }\nsteps: [{ use: s, get: /, headers: { a: "b\\nc" } }]\n',
      ),
      [
        "1:67: `keep-alive` is between the connection's two ends and can't be sent: leave it out",
        "2:41: this header has a line break in its value, which HTTP can't carry",
      ],
    );
  });

  it("takes `$${{` for what it looks like, and checks references in the names of members", () => {
    const text =
      'resources: { s: { type: http, base-url: http://h.test } }\nsteps: [{ use: s, post: /, json: { "${{ a.b }}": 1, c: "$${{ d }}" } }]\n';
    assert.deepEqual(invalid(text), [
      "2:36: there is no `a`; a text is written `'a'`, and a path begins with env, inputs, steps, run; write `$${{` for `${{` itself",
    ]);
  });

  it("settles what a cli step is given, how long it may take, and when it is ready", () => {
    const pipeline = valid(`resources: { sh: { type: cli, timeout: 1m } }
steps:
  - { id: first, use: sh, run: a, stdin: 1.50, expect: { stdout: [a, /b/], stderr: c } }
  - { use: sh, run: a, timeout: 2s, stdin: "\${{ steps.first.json }}" }
  - { use: sh, run: a, background: true, ready: { port: 8080, output: up, http: "http://h.test/", within: 5s } }
  - { use: sh, run: a, background: true }`);
    const steps = pipeline.steps.map((step) => (step.type === "cli" ? step : assert.fail(step.type)));
    const text = (said: string) => ({ kind: "contains", text: said });
    assert.deepEqual(
      steps.map(({ stdin, timeoutMilliseconds, background }) => [stdin, timeoutMilliseconds, background]),
      [
        ["1.50", 60_000, undefined],
        ["${{ steps.first.json }}", 2000, undefined],
        [
          undefined,
          undefined,
          { port: "8080", output: [text("up")], http: "http://h.test/", withinMilliseconds: 5000 },
        ],
        [undefined, undefined, { withinMilliseconds: 20_000 }],
      ],
    );
    assert.deepEqual(steps[0]?.expect, {
      exitCode: 0,
      output: undefined,
      stdout: [text("a"), { kind: "matches", source: "b", flags: "" }],
      stderr: [text("c")],
    });
  });

  it("settles a cli step against its resource, and keeps numbers as they were written", () => {
    const pipeline = valid(`
resources:
  sh: { type: cli, cwd: app, env: { A: 1, B: "2" } }
steps:
  - { use: sh, run: [sleep, 1.50, true], env: { B: 3.10 }, expect: { exit-code: 7, output: /done/i } }
`);
    assert.deepEqual(pipeline.steps, [
      {
        type: "cli",
        name: "sleep 1.50 true",
        use: "sh",
        run: ["sleep", "1.50", "true"],
        cwd: "app",
        env: { A: "1", B: "3.10" },
        expect: {
          exitCode: 7,
          output: [{ kind: "matches", source: "done", flags: "i" }],
          stdout: undefined,
          stderr: undefined,
        },
      },
    ]);
  });

  it("may use YAML's anchors, a byte-order mark and Windows line ends", () => {
    const pipeline = valid(
      "\uFEFFresources:\r\n  sh: { type: cli, env: &e { A: x } }\r\nsteps:\r\n  - { use: sh, run: a, env: *e }\r\n",
    );
    const [step] = pipeline.steps;
    assert.deepEqual(step?.type === "cli" && step.env, { A: "x" });
  });

  it("keeps a reference to the environment as it is written", () => {
    const [step] = valid(
      "resources: { sh: { type: cli } }\nsteps: [{ use: sh, run: 'echo ${{ env.TOKEN }}' }]",
    ).steps;
    assert.equal(step?.type === "cli" && step.run, "echo ${{ env.TOKEN }}");
  });

  it("takes a body member named like a part of every object for plain data", () => {
    const pipeline = valid(`
resources: { s: { type: http, base-url: "http://h.test" } }
steps: [{ use: s, post: /, json: { __proto__: { admin: true }, constructor: 1 } }]`);
    const [step] = pipeline.steps;
    assert.ok(step?.type === "http" && step.body.kind === "json");
    assert.equal(JSON.stringify(step.body.value), '{"__proto__":{"admin":true},"constructor":1}');
  });
});

describe("a broken pipeline file", () => {
  it("has a problem where a free name is one that objects lose", () => {
    const read = parsePipeline(
      "resources: { sh: { type: cli } }\nsteps:\n  - use: sh\n    run: env\n    env: { __proto__: x }\n",
      "a.yaml",
    );
    assert.equal(read.kind, "invalid");
    assert.deepEqual(read.kind === "invalid" && read.problems, [
      { message: "`__proto__` can't be a name", line: 5, column: 23 },
    ]);
  });

  const cases: readonly (readonly [title: string, text: string, ...problems: string[]])[] = [
    ["that is empty", "", "1:1: the file is empty; a pipeline has `steps`"],
    ["that is a list", "- a\n- b", "1:1: expected a map with `steps`"],
    ["without steps", "name: x", "1:1: a pipeline needs `steps`"],
    ["whose steps are none", "steps: []", "1:8: this list is empty"],
    ["whose steps are no list", "steps: go", "1:8: expected a list"],
    [
      "with a misspelt name at the top",
      "stepps:\n  - a\n",
      "1:1: a pipeline has no `stepps`; did you mean `steps`?",
    ],
    [
      "with a misspelt name in a step",
      "resources: { sh: { type: cli } }\nsteps:\n  - use: sh\n    rnu: echo\n",
      "4:5: a cli step has no `rnu`; did you mean `run`?",
    ],
    [
      "with a misspelt expectation",
      "resources: { sh: { type: cli } }\nsteps:\n  - use: sh\n    run: echo\n    expect:\n      exitcode: 1",
      "6:7: `expect` has no `exitcode`; did you mean `exit-code`?",
    ],
    [
      "that names a resource that isn't there",
      "resources: { shop: { type: http, base-url: 'http://h.test' } }\nsteps:\n  - { use: shpo, get: / }",
      "3:12: there is no resource `shpo`; did you mean `shop`?",
    ],
    [
      "without resources",
      "steps:\n  - { use: sh, run: echo }",
      "2:12: there is no resource `sh`: the file has no `resources`",
    ],
    [
      "with an unknown resource type",
      "resources:\n  a: { type: htpp }\nsteps: [{ use: a, get: / }]",
      "2:14: there is no resource type `htpp`; did you mean `http`? the types are http, sql, browser, cli",
      "3:24: `a` has no `base-url`, so this must be a whole address, beginning with http:// or https://",
    ],
    [
      "with a resource type far from any",
      "resources:\n  a: { type: kafka }\nsteps: [{ use: a, get: / }]",
      "2:14: there is no resource type `kafka`; the types are http, sql, browser, cli",
    ],
    [
      "with a resource without a type",
      "resources:\n  a: {}\nsteps: [{ use: a, get: / }]",
      "2:6: the resource `a` needs a `type`; the types are http, sql, browser, cli",
    ],
    [
      "with the action of another type",
      "resources: { sh: { type: cli } }\nsteps:\n  - use: sh\n    get: /health",
      "4:5: `get` belongs to a step of type http, but `sh` is of type cli, whose steps have `run`",
    ],
    [
      "with a step that does nothing",
      "resources: { sh: { type: cli } }\nsteps:\n  - use: sh",
      "3:5: this step does nothing; a cli step has `run`",
    ],
    [
      "with a program in the background whose end is waited for",
      "resources: { sh: { type: cli } }\nsteps:\n  - { use: sh, run: a, background: true, timeout: 1s, expect: { exit-code: 0, output: a, stdout: b, stderr: c } }",
      "3:42: a program in the background goes on until the run ends; `ready.within` says how soon it has to be ready",
      "3:65: a program in the background hasn't ended when its step has; `ready` says what is waited for",
      "3:79: a program in the background hasn't ended when its step has; `ready` says what is waited for",
      "3:90: a program in the background hasn't ended when its step has; `ready` says what is waited for",
      "3:101: a program in the background hasn't ended when its step has; `ready` says what is waited for",
    ],
    [
      "with a readiness that can't be looked at",
      "resources: { sh: { type: cli } }\nsteps:\n  - { use: sh, run: a, background: true, ready: { port: 70000, http: 'localhost:80', output: '/(/', within: 2h } }\n  - { use: sh, run: a, background: true, ready: { within: 1s } }\n  - { use: sh, run: a, ready: { prot: 1 } }\n  - { use: sh, run: a, background: false, ready: { port: 1 } }\n  - { use: sh, run: a, background: \"true\" }",
      "3:57: a port is a whole number from 1 to 65535",
      "3:70: `localhost:80` is no address: it begins with http:// or https://",
      "3:94: invalid regular expression: /(/: Unterminated group",
      "3:109: a timeout is at least 1ms and at most 1h",
      "4:49: `ready` needs `port`, `output` or `http`",
      "5:33: `ready` has no `prot`; did you mean `port`?",
      "6:43: only a program with `background: true` is waited for like this",
      "7:36: expected true or false",
    ],
    [
      "with an input that is no text, and a shell's time that is none",
      "resources: { sh: { type: cli, timeout: 0 } }\nsteps:\n  - { use: sh, run: a, stdin: [a] }\n  - { use: sh, run: a }\n  - { use: sh, run: a, timeout: 5 sec }",
      "1:40: a timeout is at least 1ms and at most 1h",
      "3:31: expected text",
      "5:33: expected a length of time such as 500ms, 60s, 5m or 1h, or a number of seconds; did you mean `5s`?",
    ],
    [
      "that keeps what is outside of its folder, what an expression names, or files that aren't there yet",
      "resources: { sh: { type: cli } }\nsteps:\n  - { use: sh, run: a, keep: ../x }\n  - { use: sh, run: a, keep: [ok/**, /etc/passwd, 'C:\\x', a/../b, \"${{ env.A }}\", 'a\\..\\b'] }\n  - { use: sh, run: a, background: true, keep: x }\n  - { use: sh, run: a, keep: [] }\n  - { use: sh, run: a, keep: 3 }",
      "3:30: this leads out of the folder; what is kept is within it, such as `reports/*.xml`",
      "4:38: this leads out of the folder; what is kept is within it, such as `reports/*.xml`",
      "4:51: this leads out of the folder; what is kept is within it, such as `reports/*.xml`",
      "4:59: this leads out of the folder; what is kept is within it, such as `reports/*.xml`",
      "4:67: nothing can be filled in here",
      "4:83: this leads out of the folder; what is kept is within it, such as `reports/*.xml`",
      "5:42: a program in the background hasn't left its files yet when its step ends; a later step can keep them, in `finally` too",
      "6:30: this list is empty",
      "7:30: expected a file's path, or a list of them; put this number in quotes",
    ],
    [
      "with two requests in a step",
      "resources: { s: { type: http, base-url: 'http://h.test' } }\nsteps:\n  - use: s\n    get: /\n    head: /",
      "5:5: a step sends one request, and this one already has `get`",
    ],
    [
      "with a body where none can be",
      "resources: { s: { type: http, base-url: 'http://h.test' } }\nsteps:\n  - { use: s, get: /, body: x }",
      "3:23: a get request has no body; `request` sends one with any method",
    ],
    [
      "with a base URL that is none",
      "resources:\n  s: { type: http, base-url: localhost:80 }\nsteps: [{ use: s, get: / }]",
      "2:30: `localhost:80` is no address: it begins with http:// or https://",
    ],
    [
      "with a path and no base URL",
      "resources: { s: { type: http } }\nsteps:\n  - { use: s, get: /a }",
      "3:20: `s` has no `base-url`, so this must be a whole address, beginning with http:// or https://",
    ],
    [
      "with a password in an address",
      "resources: { s: { type: http } }\nsteps:\n  - { use: s, get: 'http://me:secret@h.test/' }",
      "3:20: an address holds no user and password; send them by `auth`",
    ],
    ["with too long a limit", `time-limit: 2h\n${oneStep}`, "1:13: a run may take at most 1h (3600 seconds)"],
    [
      "with a limit that is no time",
      `time-limit: soon\n${oneStep}`,
      "1:13: expected a length of time such as 500ms, 60s, 5m or 1h, or a number of seconds",
    ],
    [
      "with half a second as its limit",
      `time-limit: 0.5\n${oneStep}`,
      "1:13: a time limit is a whole number of seconds, at least 1",
    ],
    ...["../.env", "a/../../.env", "/etc/.env", String.raw`..\.env`, String.raw`\\host\.env`, "C:.env"].map(
      (path): [string, string, string] => [
        `with a file of variables outside the project: ${path}`,
        `env-file: ${path}\n${oneStep}`,
        "1:11: this leads out of the project's folder; name a file inside it, such as `.env`",
      ],
    ),
    [
      "with a file of variables that a variable would name",
      `env-file: "\${{ env.NAME }}"\n${oneStep}`,
      "1:11: nothing can be filled in here",
    ],
    [
      "with a name that can't be one",
      `name: a b\n${oneStep}`,
      "1:7: `a b` can't be a pipeline's name: it begins with a letter or digit and goes on with letters, digits, `.`, `_` and `-`",
    ],
    [
      "with a reference to what isn't the environment",
      "resources: { sh: { type: cli } }\nsteps:\n  - { use: sh, run: 'echo ${{ secrets.X }}' }",
      "3:31: there is no `secrets`; did you mean `env`?",
    ],
    [
      "with a reference that doesn't end",
      "resources: { sh: { type: cli } }\nsteps:\n  - use: sh\n    run: x\n    env: { A: '${{ env.X' }",
      "5:15: `${{` has no closing `}}`; write `$${{` for `${{` itself",
    ],
    [
      "with a reference in a name that people see",
      "resources: { sh: { type: cli } }\nsteps:\n  - name: ${{ env.X }}\n    use: sh\n    run: x",
      "3:11: nothing can be filled in here",
    ],
    [
      "with a broken regular expression",
      "resources: { sh: { type: cli } }\nsteps:\n  - { use: sh, run: x, expect: { output: /(/ } }",
      "3:42: invalid regular expression: /(/: Unterminated group",
    ],
    ["with a name twice", `name: a\nname: b\n${oneStep}`, "2:1: `name` is here twice"],
    [
      "that is indented with a tab",
      "resources: { sh: { type: cli } }\nsteps:\n  - use: sh\n\t  run: x",
      "4:1: this line is indented with a tab; YAML is indented with spaces",
    ],
    ["with an alias of nothing", "steps: *nothing", "1:8: nothing before this is anchored as `&nothing`"],
    ["with an alias of itself", "steps: &a [*a]", "1:12: nothing before this is anchored as `&a`"],
    [
      "with two documents",
      `${oneStep}\n---\na: b`,
      "3:1: a pipeline file holds one YAML document, and here a second one begins",
    ],
    ["with a tag", `name: !secret x\n${oneStep}`, "1:7: put this value in quotes: it begins with `!`"],
    [
      "with a step that is a word",
      "steps:\n  - go",
      "2:5: a step is a map with `use` and an action, such as `{ use: shell, run: npm test }`",
    ],
    [
      "with values of the wrong kind",
      "resources: { sh: { type: cli } }\nsteps:\n  - use: sh\n    run: { a: b }\n    cwd: 3\n    env: { A: [] }\n    expect: { exit-code: one }",
      "4:10: expected a line for the shell, or a list of a program and its arguments",
      "5:10: expected text; put this number in quotes",
      "6:15: expected text",
      "7:26: expected a number",
    ],
    [
      "with a variable and a header that can't be named so",
      "resources:\n  sh: { type: cli, env: { A-B: x } }\n  s: { type: http, headers: { 'a b': x } }\nsteps: [{ use: sh, run: x }]",
      "2:27: this can't name an environment variable",
      "3:31: this can't name an HTTP header",
    ],
    [
      "with a NUL character",
      'resources: { sh: { type: cli } }\nsteps:\n  - { use: sh, run: ["a", "b\\0"] }',
      "3:27: this holds a NUL character",
    ],
    [
      "with an empty action",
      "resources: { sh: { type: cli } }\nsteps:\n  - use: sh\n    run:",
      "4:5: expected a line for the shell, or a list of a program and its arguments",
    ],
  ];

  for (const [title, text, ...problems] of cases) {
    it(`${title} is told with line and column`, () => assert.deepEqual(invalid(text), problems));
  }

  it("tells what is wrong in its YAML once each, and whatever else is wrong, in order", () => {
    const text =
      "resources:\n  sh: { type: cli }\nsteps:\n  - use: sh\n    run: echo a: b\n    nmae: x\n  - use: shh\n    run:npm test\n  - use: sh\n    npm test\n";
    assert.deepEqual(invalid(text), [
      "5:10: put this value in quotes: it contains `: `",
      "6:5: a cli step has no `nmae`; did you mean `name`?",
      "7:10: there is no resource `shh`; did you mean `sh`?",
      "8:5: the colon after `run` needs a space after it",
      "10:5: expected `name: value`, with a colon and a space",
    ]);
  });

  for (const [type, meant] of [
    ["postgres", "sql"],
    ["MySQL", "sql"],
    ["sqlite", "sql"],
    ["shell", "cli"],
    ["bash", "cli"],
    ["command", "cli"],
    ["rest", "http"],
    ["api", "http"],
    ["playwright", "browser"],
  ] as const) {
    it(`is told what a resource of type ${type} is called here`, () => {
      assert.equal(
        invalid(`resources: { a: { type: ${type} } }\nsteps: [{ use: a }]`).find((told) =>
          told.startsWith("1:25"),
        ),
        `1:25: there is no resource type \`${type}\`; did you mean \`${meant}\`? the types are http, sql, browser, cli`,
      );
    });
  }

  it("is told of both types that another tool's may mean", () => {
    assert.deepEqual(invalid("resources: { a: { type: web } }\nsteps: [{ use: a }]"), [
      "1:25: there is no resource type `web`; `http` sends requests, and `browser` uses a page",
    ]);
  });

  it("is told where a path and a pause of another tool's stand here, and not what is spelt alike", () => {
    assert.deepEqual(
      invalid(`resources: { shop: { type: http, base-url: "http://h.test" } }
steps: [{ use: shop, method: GET, path: /x, wait: 2s }]`),
      [
        "2:22: an http step has no `method`; write the method and the path, such as `get: /health`",
        "2:35: an http step has no `path`; write the method and the path, such as `get: /health`",
        "2:45: an http step has no `wait`; `retry` waits until all that the step expects holds",
      ],
    );
  });

  it("is told of what any step has also where a step's resource isn't known", () => {
    assert.deepEqual(
      invalid(`resources: { sh: { type: cli }, odd: { type: gopher } }
steps:
  - { use: shh, naem: a, run: x, retry: { times: 0 } }
  - { use: odd, on-failure: stop, gte: /, expect: { that: [], status: 200 } }
  - { name: b, run: x, timeout-minutes: 5 }
  - { get: /health, id: "1" }
  - { sh: { run: x } }
  - { query: x, uses: actions/checkout@v4 }
  - { query: select 1 }
`),
      [
        "1:46: there is no resource type `gopher`; the types are http, sql, browser, cli",
        "3:12: there is no resource `shh`; did you mean `sh`?",
        "3:17: a step has no `naem`; did you mean `name`?",
        "3:50: this is too small: at least 1",
        "4:29: expected `continue`; without it, the run ends here",
        "4:35: a step has no `gte`; did you mean `get`?",
        "4:59: this list is empty",
        "5:5: a step needs `use`: the name of the resource that it works with, such as `use: sh`",
        "5:24: a step has no `timeout-minutes`; write `timeout: 5m`",
        '6:5: a step needs `use`: the name of the resource that it works with, such as `use: shop` with `resources: { shop: { type: http, base-url: "http://127.0.0.1:8080" } }`',
        "6:25: an `id` begins with a letter or `_` and goes on with letters, digits, `_` and `-`",
        "7:7: a resource is named by `use: sh`, and what is done with it stands beside that",
        "8:17: a step has no `uses`; a program does what an action does; other steps are put in by `include: parts/login.yaml`",
        "9:5: a step needs `use`: the name of the resource that it works with",
      ],
    );
  });

  it("is told where the work of another tool's job and step is done here", () => {
    assert.deepEqual(
      invalid(`stages: [build]
build: { stage: build, script: [npm ci] }
resources: { sh: { type: cli, env_file: .env } }
steps:
  - sleep: 5
  - { name: both, parallel: [] }
test_name: a
tests: { a: {} }
`),
      [
        "1:1: a pipeline has no `stages`; what a pipeline does stands in `steps`, one after the other",
        "2:1: a pipeline has no jobs: what `build` does is a part of `steps`, or a pipeline file of its own",
        '3:31: a cli resource has no `env_file`; `env-file` is the whole file\'s; `env: { A: "${{ env.A }}" }` passes a variable on',
        "5:5: a step has no `sleep`; `retry` waits until all that the step expects holds",
        "6:19: a step has no `parallel`; steps run one after the other, in the order of the file",
        "7:1: a pipeline has no `test_name`; did you mean `name`?",
        "8:1: a pipeline has no `tests`; what a pipeline does stands in `steps`, one after the other",
      ],
    );
  });

  it("is told that a list of a program's arguments is no list of lines", () => {
    assert.deepEqual(
      invalid("resources: { sh: { type: cli } }\nsteps: [{ use: sh, run: [npm ci, npm test] }]"),
      [
        "2:26: a list is a program and each of its arguments; lines for the shell are one text, which begins with `run: |`",
      ],
    );
  });

  it("tells the problems of its whole length at once, in order", () => {
    const told = invalid(`time-limit: 2h
resources:
  shop: { type: http, base-url: "http://h.test", base_url: x }
  sh: { type: cli }
steps:
  - { use: sh, run: echo, cmd: x }
  - { use: shh, run: echo }
`);
    assert.deepEqual(told, [
      "1:13: a run may take at most 1h (3600 seconds)",
      "3:50: an http resource has no `base_url`; did you mean `base-url`?",
      "6:27: a cli step has no `cmd`; that is `run` here",
      "7:12: there is no resource `shh`; did you mean `sh`?",
    ]);
  });

  it("tells the problems of steps together with those of the resources that they use", () => {
    const told = invalid(`resources:
  shop: { type: http, base_url: "http://h.test" }
  books: { type: sql }
  sh: { type: cli, cdw: x }
  page: { type: browser, url: "http://h.test" }
  odd: { type: htp }
steps:
  - { use: shop, get: /health, expect: { status: soon } }
  - { use: shop, gte: /health }
  - { use: shop, get: /fine }
  - { use: books, qurey: select 1 }
  - { use: books, query: select 1, timeout: 2h }
  - { use: sh }
  - { use: page, goto: /, actions: [clik: Go] }
  - { use: page, goto: /fine }
  - { use: odd, gte: / }
`);
    assert.deepEqual(told, [
      "2:23: an http resource has no `base_url`; did you mean `base-url`?",
      "3:10: an sql resource needs `url`",
      "4:20: a cli resource has no `cdw`; did you mean `cwd`?",
      "5:26: a browser resource has no `url`; did you mean `base-url`?",
      "6:16: there is no resource type `htp`; did you mean `http`? the types are http, sql, browser, cli",
      "8:50: expected a number from 100 to 599, or a kind of status such as 2xx",
      "9:18: an http step has no `gte`; did you mean `get`?",
      "11:19: an sql step has no `qurey`; did you mean `query`?",
      "12:45: a timeout is at least 1ms and at most 1h",
      "13:5: this step does nothing; a cli step has `run`",
      "14:37: `actions` has no `clik`; did you mean `click`?",
      "16:17: an http step has no `gte`; did you mean `get`?",
    ]);
  });

  it("whose own name can't be a pipeline's is told to give one", () => {
    assert.match(
      invalid(oneStep, "my pipeline.yaml").join(),
      /^1:1: the file's name, `my pipeline`, can't be/,
    );
  });

  it("is shown as path, line and column, so that an editor links it", () => {
    const problem = { message: "this is wrong", line: 3, column: 7 };
    assert.equal(formatProblem("pipelines/a.yaml", problem), "pipelines/a.yaml:3:7: this is wrong");
  });
});

describe("a hostile pipeline file", () => {
  it("larger than 1 MiB is not read, nor one of very many values", () => {
    assert.deepEqual(invalid("#".repeat(1024 * 1024 + 1)), [
      "1:1: the file is larger than 1 MiB, the most that is read",
    ]);
    for (const text of ["[", "- a\n", '"', "a: 1\n", "# x\n"]) {
      assert.deepEqual(invalid(text.repeat((1024 * 1024) / text.length)), [
        "1:1: the file has too many values to be read: put some of its steps into a part",
      ]);
    }
  });

  it("of aliases that stand for billions of values is refused", () => {
    const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"];
    for (let level = 1; level < 12; level += 1) {
      lines.push(
        `a${level}: &a${level} [${Array(10)
          .fill(`*a${level - 1}`)
          .join(", ")}]`,
      );
    }
    assert.match(invalid(lines.join("\n")).join(), /holds more than 50000 values/);
    const long = `a: &a ${"x".repeat(200_000)}\nb: [${Array(100).fill("*a").join(", ")}]`;
    assert.match(invalid(long).join(), /long texts counted as several/);
  });

  for (const [title, text] of [
    ["opening brackets", "[".repeat(10_000)],
    ["opening maps", "{a: ".repeat(3000)],
    ["names", Array.from({ length: 20_000 }, (_, index) => `k${index}:`).join("\n")],
    ["steps", `steps:\n${"- {use: x}\n".repeat(10_000)}`],
    ["dashes", "- ".repeat(10_000)],
    ["anchors", "&a ".repeat(20_000)],
    ["tabs", "\t".repeat(60_000)],
    ["spaces inside a value", `a: b${" ".repeat(60_000)}x: y`],
    ["steps with a colon too many", `steps:\n${"  - use: sh\n    run: a b: c\n".repeat(2000)}`],
    ["names that are there twice", `steps:\n  - use: sh\n${"    use: sh\n".repeat(5000)}`],
    ["torn quotations", `steps:\n${'  - a "b #c"\n'.repeat(4500)}`],
    [
      "wrong steps with long names",
      `resources: {s: {type: cli}}\nsteps:\n${`- {use: s, run: a, ${"k".repeat(50)}: 1}\n`.repeat(1000)}`,
    ],
  ] as const) {
    it(`of nothing but ${title} gets problems and no exception`, () => {
      const told = invalid(text);
      assert.ok(told.length > 0 && told.length <= 100);
      assert.ok(told.every((line) => line.length < 400));
    });
  }

  it("of any text gets a pipeline or problems that stand inside the file", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        ..."resources: steps: use: run: get: type: http cli sh - { } [ ] , & * ! | > ' \" # ${{ env.A }} \n \t ? : ~".split(
          " ",
        ),
      ),
      fc.constantFrom("\n", "\n  ", "\n    ", "  - ", "name: ", "time-limit: ", "expect: "),
      fc.string({ unit: "binary", maxLength: 6 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const text = pieces.join("");
        const parsed = parsePipeline(text, "a.yaml");
        if (parsed.kind === "valid") return;
        const lines = text.split("\n");
        for (const { message, line, column } of parsed.problems) {
          assert.ok(message.length > 0 && line >= 1 && column >= 1);
          assert.ok(
            line <= lines.length && column <= (lines[line - 1] ?? "").length + 1,
            `${line}:${column}`,
          );
        }
      }),
      { numRuns: 200 },
    );
  });

  it("of any data gets an answer, and what is valid is what the runner's process reads", () => {
    const key = fc.constantFrom(
      "name",
      "use",
      "run",
      "get",
      "post",
      "expect",
      "json",
      "env",
      "cwd",
      "headers",
      "__proto__",
      "x",
    );
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: "small" },
        fc.constantFrom("sh", "shop", "/a", "echo", "${{ env.A }}", "/x/", ""),
        fc.integer(),
        fc.double(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie("any"), { maxLength: 3 }),
        fc.dictionary(key, tie("any"), { maxKeys: 4 }),
      ),
    })).any;
    fc.assert(
      fc.property(fc.array(fc.dictionary(key, value, { maxKeys: 5 }), { maxLength: 4 }), (steps) => {
        const resources = { sh: { type: "cli" }, shop: { type: "http", "base-url": "http://h.test" } };
        const parsed = parsePipeline(JSON.stringify({ resources, steps }), "a.yaml");
        assert.ok(parsed.kind === "invalid" || parsed.pipeline.steps.length > 0);
      }),
      { numRuns: 500 },
    );
  });
});

function valid(text: string, fileName = "a.yaml"): Pipeline {
  const parsed = parsePipeline(text, fileName);
  if (parsed.kind === "invalid")
    assert.fail(parsed.problems.map((problem) => formatProblem(fileName, problem)).join("\n"));
  return parsed.pipeline;
}

function invalid(text: string, fileName = "a.yaml"): string[] {
  const parsed = parsePipeline(text, fileName);
  assert.equal(parsed.kind, "invalid");
  return parsed.kind === "invalid"
    ? parsed.problems.map(({ message, line, column }) => `${line}:${column}: ${message}`)
    : [];
}
