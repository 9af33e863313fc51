// biome-ignore-all lint/suspicious/noTemplateCurlyInString: pipeline files.
import assert from "node:assert/strict";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { sql } from "kysely";
import { itOn } from "../../itOn.ts";
import { Listening } from "../../listening.ts";
import { postgresFolder } from "../../postgres/installPostgres.ts";
import { databasesForSuite } from "../../postgres/lentDatabases.ts";
import { type Toolbox, toolbox } from "../toolbox.ts";

const secret = "a-secret-of-the-shop";

describe("pipeline run --dry-run", () => {
  it("shows what each type of step would send and run, in its order and without a secret, and does none of it", async () => {
    await using tool = await toolbox();
    await mkdir(join(tool.project, "shop"));
    for (const file of ["lamp.png", "fixtures.sql", "chromium"])
      await writeFile(join(tool.project, file), "select 1", { mode: 0o700 });
    await tool.write(
      "order",
      `
inputs: { lamps: 2, region: { options: [eu, us], default: eu }, buyerName: "buyer-\${{ run.id }}" }
resources:
  shell: { type: cli, cwd: shop, env: { TOKEN: "\${{ env.TOKEN }}" } }
  shop: { type: http, base-url: "http://127.0.0.1:9/api", headers: { authorization: "Bearer \${{ env.TOKEN }}" } }
  books: { type: sql, url: "postgres://app:\${{ env.TOKEN }}@127.0.0.1:9/shop" }
  stock: { type: sql, url: "mysql://app:\${{ env.TOKEN }}@127.0.0.1:9/shop" }
  memory: { type: sql, url: "sqlite::memory:" }
  visitor: { type: browser, base-url: "http://127.0.0.1:9", executable: ./chromium }
steps:
  - { name: unit tests, use: shell, run: "touch made\\necho two", stdin: three }
  - { name: server, use: shell, run: [sh, "-c", "exit 1"], background: true, ready: { port: 8080, output: listening } }
  - { use: shop, get: "/health?region=\${{ inputs.region }}", query: { by: "\${{ inputs.buyerName }}" }, retry: { for: 30s } }
  - { id: order, use: shop, post: /orders, json: { count: "\${{ inputs.lamps }}", id: "\${{ uuid() }}", at: "\${{ now() }}" } }
  - { name: overseas, if: inputs.region == 'us', use: shell, run: nosuchprogram }
  - { use: shop, each: [a, b], get: "/items/\${{ each.value }}", on-failure: continue, headers: { x: [one, two] } }
  - { use: shop, each: "\${{ steps.order.json.items }}", request: { method: purge, path: / } }
  - { use: shop, get: /me, auth: { basic: { user: ada, password: "\${{ steps.order.json.password }}" } } }
  - { use: shop, post: /pictures, multipart: { of: lamp, picture: { file: lamp.png } } }
  - { use: shop, post: /form, form: { a: one two, id: "\${{ steps.order.json.id }}" } }
  - { use: shop, put: /picture, file: lamp.png }
  - { use: shop, get: "\${{ steps.order.headers.location }}/x" }
  - { use: books, query: "select $1, $2", params: ["\${{ steps.order.json.id }}", 2] }
  - { use: stock, statements: [select 1, { query: select ?, params: [true] }] }
  - { use: memory, file: fixtures.sql }
  - use: visitor
    goto: "/orders/\${{ steps.order.json.id }}"
    actions: [{ fill: { label: Password, with: "\${{ env.TOKEN }}" } }, { click: { role: button, name: Go } }]
    read: { total: { test-id: total } }
    screenshot: order.png
    storage: login.json
finally:
  - { if: exists(steps.order.json.id), use: shop, delete: "/orders/\${{ steps.order.json.id }}" }
`,
    );
    const { exitCode, stdout, stderr } = await tool.call(
      ["run", "order", "--dry-run", "--input", "lamps=3"],
      { TOKEN: secret },
    );
    assert.equal(stderr, "No problem found. Nothing was started.");
    assert.equal(exitCode, 0);
    assert.equal(
      stdout,
      `order, pipelines/order.yaml: 17 steps, up to 30 s
   lamps = 3
   region = eu
   buyerName = buyer-\${{ run.id }}
 1 unit tests, shell (cli)
     in shop
     TOKEN=***
     $ touch made
       echo two
     standard input: three
 2 server, shell (cli)
     in shop
     TOKEN=***
     $ sh -c "exit 1"
     in the background, ready once port 8080 is open and it has printed \`listening\`
 3 GET /health?region=\${{ inputs.region }}, shop (http)
   tried until it succeeds, for 30 s
     GET http://127.0.0.1:9/api/health?region=eu&by=buyer-\${{ run.id }}
     authorization: Bearer ***
 4 POST /orders, shop (http)
     POST http://127.0.0.1:9/api/orders
     content-type: application/json
     authorization: Bearer ***
     {"count":3,"id":"\${{ uuid() }}","at":"\${{ now() }}"}
 5 overseas, shell (cli)
   skipped: \`if\` is false: inputs.region == 'us'
 6 GET /items/\${{ each.value }}, shop (http)
   for each of "a", "b"
   the run goes on when it fails
     GET http://127.0.0.1:9/api/items/\${{ each.value }}
     authorization: Bearer ***
     x: one
     x: two
 7 PURGE /, shop (http)
   for each of \${{ steps.order.json.items }}
     PURGE http://127.0.0.1:9/api/
     authorization: Bearer ***
 8 GET /me, shop (http)
     GET http://127.0.0.1:9/api/me
     authorization: Basic ada:\${{ steps.order.json.password }}
 9 POST /pictures, shop (http)
     POST http://127.0.0.1:9/api/pictures
     authorization: Bearer ***
     of: lamp
     picture: the file lamp.png
10 POST /form, shop (http)
     POST http://127.0.0.1:9/api/form
     content-type: application/x-www-form-urlencoded
     authorization: Bearer ***
     a=one+two&id=\${{ steps.order.json.id }}
11 PUT /picture, shop (http)
     PUT http://127.0.0.1:9/api/picture
     content-type: application/octet-stream
     authorization: Bearer ***
     the file lamp.png
12 GET \${{ steps.order.headers.location }}/x, shop (http)
     GET http://127.0.0.1:9/api/\${{ steps.order.headers.location }}/x
     authorization: Bearer ***
13 select $1, $2, books (sql)
     in the PostgreSQL database shop at 127.0.0.1:9, as app
     select $1, $2
     with ["\${{ steps.order.json.id }}",2]
14 select 1 (and 1 more), stock (sql)
     in the MySQL database shop at 127.0.0.1:9, as app, as one transaction
     select 1
     select ?
     with [true]
15 fixtures.sql, memory (sql)
     in an SQLite database in memory
     the statements of fixtures.sql
16 open /orders/\${{ steps.order.json.id }}, visitor (browser)
     go to http://127.0.0.1:9/orders/\${{ steps.order.json.id }}
     fill the field labelled \`Password\` with \`***\`
     click the button \`Go\`
     read total
     save the screenshot order.png
     save cookies and local storage in login.json
finally
17 DELETE /orders/\${{ steps.order.json.id }}, shop (http)
   if exists(steps.order.json.id)
     DELETE http://127.0.0.1:9/api/orders/\${{ steps.order.json.id }}
     authorization: Bearer ***`,
    );
    assert.deepEqual((await readdir(tool.project)).sort(), [
      "chromium",
      "fixtures.sql",
      "lamp.png",
      "pipelines",
      "shop",
    ]);
    assert.deepEqual(await readdir(join(tool.project, "shop")), []);
    assert.deepEqual(await readdir(tool.data), []);
  });

  it("says what is missing on this machine: exit code 1", async () => {
    await using tool = await toolbox();
    await writeFile(
      join(tool.project, "api.yaml"),
      `
openapi: 3.1.0
info: { title: shop, version: "1" }
paths:
  /lamps:
    post:
      requestBody: { content: { application/json: { schema: { required: [name] } } } }
      responses: { "200": { description: made } }
`,
    );
    await tool.write(
      "broken",
      `
resources:
  api: { type: http, base-url: "http://127.0.0.1:9", openapi: api.yaml }
  safe: { type: http, base-url: "https://127.0.0.1:9", tls: { ca: ca.pem } }
  orders: { type: sql, url: "sqlite:orders.db" }
  far: { type: sql, url: "postgres://127.0.0.1:9/shop?sslmode=verify-ca&sslrootcert=db.pem" }
  shell: { type: cli }
  page: { type: browser, executable: ./nobrowser }
steps:
  - { use: api, post: /lamps, json: { price: 1 } }
  - { use: api, get: /nothing, openapi: false, expect: { json-schema: schema.json } }
  - { use: api, post: /lamps, json: {}, headers: { content-type: "application/json\${{ env.NO_SUCH_VARIABLE }}" } }
  - { use: safe, put: /, file: picture.png }
  - { use: orders, query: select 1 }
  - { use: far, query: select 1 }
  - { use: shell, run: [nosuchprogram, --version] }
  - { use: page, goto: "http://127.0.0.1:9/" }
  - { use: shell, run: "true", env: { A: "\${{ fromJSON('{') }}" } }
`,
    );
    const told = await json(tool, "broken");
    assert.equal(told.exitCode, 1);
    assert.equal(told.error.type, "run-failed");
    assert.equal(told.error.message, "A run would fail: 10 problems. Nothing was started.");
    assert.deepEqual(told.runs, []);
    const folder = tool.project;
    assert.deepEqual(problemsOf(told), [
      ["`api.yaml`: request.name: expected a value, got nothing"],
      [`\`schema.json\` isn't in the project's folder, ${folder}`],
      [
        "the environment variable `NO_SUCH_VARIABLE` isn't set where the run was started, and the pipeline names no `env-file`",
      ],
      [
        `\`picture.png\` isn't in the project's folder, ${folder}`,
        `\`ca.pem\` isn't in the project's folder, ${folder}`,
      ],
      [
        `there is no database orders.db (${join(folder, "orders.db")}); to have it made, write \`sqlite:orders.db?mode=rwc\``,
      ],
      ["there is no file db.pem"],
      ["there is no program `nosuchprogram` on the PATH"],
      ["the resource's `executable` is `./nobrowser`, but there is no such program"],
      ["fromJSON('{'): the text isn't JSON"],
    ]);
    const { does } = told["dry-runs"][0].steps[2];
    assert.equal(does[1], "content-type: application/json${{ env.NO_SUCH_VARIABLE }}");
    assert.deepEqual(told["dry-runs"][0].steps[3].does, ["PUT https://127.0.0.1:9/", "the file picture.png"]);
  });

  itOn("posix", "looks for the program that a text for the shell begins with", async () => {
    await using tool = await toolbox();
    const missing: readonly (readonly [line: string, problem: string | undefined])[] = [
      ["nosuch1 --version | cat", "there is no program `nosuch1` on the PATH"],
      ["#!/no/interpreter\nprint", "there is no program `/no/interpreter`"],
      ["#!/usr/bin/env nosuch2\nprint", "there is no program `nosuch2` on the PATH"],
      ["#!/usr/bin/env -S A=1 sh\ntrue", undefined],
      ["if true; then echo built in; fi", undefined],
      ["A=1 nosuch3", undefined],
      ["mine () { true; }", undefined],
      ["# nothing\ntrue", undefined],
      [". ./functions; nosuch4", undefined],
    ];
    const steps = missing.map(([run]) => ({ use: "shell", run }));
    await tool.write("shells", JSON.stringify({ resources: { shell: { type: "cli" } }, steps }));
    assert.deepEqual(
      problemsOf(await json(tool, "shells")),
      missing.map(([, problem]) => [problem ?? []].flat()),
    );
  });

  it("only warns of a file that an earlier step could make", async () => {
    await using tool = await toolbox();
    await tool.write(
      "build",
      `
resources:
  shell: { type: cli }
  shop: { type: http, base-url: "http://127.0.0.1:9" }
  there: { type: cli, cwd: made }
  mine: { type: cli }
steps:
  - { use: shop, put: /, file: report.txt }
  - { use: shell, run: make all }
  - { use: shop, put: /, file: report.txt }
  - { use: shop, put: /, file: other.txt }
  - { use: there, run: ls }
  - { use: mine, run: [./bin/app] }
`,
    );
    const told = await json(tool, "build", "--from", "2");
    const { steps } = told["dry-runs"][0];
    assert.equal(steps[0].skipped, "the run begins with a later step");
    const maybe = "unless an earlier step makes it: ";
    assert.deepEqual(
      steps.map((step: { warnings: string[] }) => step.warnings),
      [
        [],
        [],
        [`${maybe}\`report.txt\` isn't in the project's folder, ${tool.project}`],
        [`${maybe}\`other.txt\` isn't in the project's folder, ${tool.project}`],
        [`${maybe}the step's folder, ${join(tool.project, "made")}, doesn't exist`],
        process.platform === "win32" ? [] : [`${maybe}there is no program \`./bin/app\``],
      ],
    );
    assert.equal(told.exitCode, 0);
    assert.deepEqual(problemsOf(await json(tool, "build"))[0], [
      `\`report.txt\` isn't in the project's folder, ${tool.project}`,
    ]);
  });

  it("tells what `pipeline validate` warns of", async () => {
    await using tool = await toolbox();
    await tool.write(
      "order",
      `
resources: { shop: { type: http, base-url: "http://127.0.0.1:9" } }
steps:
  - { id: order, use: shop, post: /orders }
  - { use: shop, get: "/orders/{{ steps.order.json.id }}" }
`,
    );
    const warning = "`{{ steps.order.json.id }}` isn't filled in here: write `${{ steps.order.json.id }}`";
    const told = await json(tool, "order");
    assert.deepEqual([told.exitCode, told.warnings], [0, [`pipelines/order.yaml:5:32: ${warning}`]]);
  });

  it("ends as a start does for what can't be started: exit code 2", async () => {
    await using tool = await toolbox();
    const shell = "resources: { shell: { type: cli } }\nsteps: [{ use: shell, run: echo hello }]\n";
    await tool.write("hello", shell);
    await tool.write("needy", `inputs: { region: { type: text } }\n${shell}`);
    await tool.write("bad", "steps: 1\n");
    await tool.write("secrets", `env-file: .env\n${shell}`);
    await writeFile(join(tool.project, "pipelines", "old.yml"), shell);
    await writeFile(join(tool.project, "pipelines", "LOUD.YAML"), shell);
    const wrong: readonly (readonly [string[], RegExp])[] = [
      [["helo"], /Did you mean `hello`/],
      [["bad"], /pipelines\/bad\.yaml:1/],
      [["old"], /rename .*pipelines\/old\.yml/],
      [["LOUD"], /rename pipelines\/LOUD\.YAML/],
      [["secrets"], /env-file, `\.env`, isn't in the project's folder/],
      [["--tag", "nightly"], /can't be run/],
      [["needy"], /`region` is missing/],
      [["hello", "--input", "region=eu"], /no input `region`/],
      [["hello", "--from", "nowhere"], /no step `nowhere`/],
      [["hello", "--detach"], /--detach/],
      [["hello", "--junit", "report.xml"], /--junit/],
    ];
    for (const [args, message] of wrong) {
      const { exitCode, stderr, stdout } = await tool.call(["run", ...args, "--dry-run"]);
      assert.match(stderr, message);
      assert.equal(exitCode, 2, stderr);
      assert.equal(stdout, "");
    }
    const { exitCode, stderr } = await tool.call(["run", "hello", "--connect"]);
    assert.match(stderr, /--connect is for --dry-run/);
    assert.equal(exitCode, 2);
    assert.deepEqual(await readdir(tool.data), []);
  });

  it("goes into parts, with their inputs, and leaves open what only a run knows", async () => {
    await using tool = await toolbox();
    await writeFile(
      join(tool.project, "visit.yaml"),
      `
inputs: { whose: { type: text }, token: { type: text }, times: 1 }
resources: { shop: { type: http, base-url: "http://127.0.0.1:8" } }
steps:
  - { name: visit, use: shop, get: "/visits/\${{ inputs.whose }}", headers: { token: "\${{ inputs.token }}" } }
  - { name: once, if: inputs.token == 'a' && inputs.whose == 'b', use: shop, get: / }
outputs: { last: 1 }
`,
    );
    await tool.write(
      "tour",
      `
inputs: { guest: { type: text } }
resources: { shop: { type: http, base-url: "http://127.0.0.1:9" } }
steps:
  - { id: login, use: shop, post: /login }
  - { id: a, include: visit.yaml, inputs: { whose: "\${{ inputs.guest }}", token: "\${{ steps.login.json.token }}" } }
  - { include: visit.yaml, if: "inputs.guest == 'nobody'", inputs: { whose: b, token: c } }
  - { include: visit.yaml, if: steps.a.last == 1, inputs: { whose: b, token: c, times: "\${{ inputs.guest }}" } }
  - { use: shop, get: "/\${{ default(steps.a.last, 'none') }}", query: { all: "\${{ toJSON(steps) }}" } }
`,
    );
    // A value that looks like an expression is none.
    const told = await json(tool, "tour", "--input", "guest=${{ env.TOKEN }}");
    const { inputs, steps } = told["dry-runs"][0];
    assert.deepEqual(inputs, { guest: "${{ env.TOKEN }}" });
    const [, visit, once, skipped, , unfit, , end] = steps;
    assert.deepEqual(visit.does, [
      "GET http://127.0.0.1:9/visits/$%7B%7B%20env.TOKEN%20%7D%7D",
      "token: ${{ steps.login.json.token }}",
    ]);
    assert.deepEqual(once.conditions, ["if inputs.token == 'a' && inputs.whose == 'b'"]);
    assert.equal(skipped.skipped, "`if` is false: inputs.guest == 'nobody'");
    assert.deepEqual(unfit.conditions, ["if steps.a.last == 1"]);
    assert.deepEqual(unfit.problems, ["the input `times` takes a number, and it is given a text"]);
    assert.deepEqual(end.does, [
      "GET http://127.0.0.1:9/${{ default(steps.a.last, 'none') }}?all=${{ toJSON(steps) }}",
    ]);
    assert.equal(told.exitCode, 1);
  });

  it("connects with --connect to the hosts and databases, and sends no request", async () => {
    await using tool = await toolbox();
    let requests = 0;
    await using server = await Listening.of(
      createServer(() => {
        requests += 1;
      }),
    );
    const closed = await Listening.of(() => {});
    await closed[Symbol.asyncDispose]();
    await writeFile(join(tool.project, "chromium"), "", { mode: 0o700 });
    await tool.write(
      "far",
      `
resources:
  up: { type: http, base-url: "http://127.0.0.1:${server.port}" }
  tls: { type: http, base-url: "https://127.0.0.1:${server.port}" }
  down: { type: http, base-url: "http://127.0.0.1:${closed.port}" }
  led: { type: http, base-url: "http://shop.example", connect-to: { shop.example: "127.0.0.1:${closed.port}" } }
  proxied: { type: http, base-url: "http://shop.example", proxy: "http://127.0.0.1:${closed.port}" }
  orders: { type: sql, url: "postgres://app:\${{ env.TOKEN }}@127.0.0.1:${closed.port}/shop" }
  stock: { type: sql, url: "mysql://app:\${{ env.TOKEN }}@localhost:${closed.port}/shop" }
  other: { type: sql, url: "postgres://app@127.0.0.1:${server.port}/shop" }
  visitor: { type: browser, base-url: "http://127.0.0.1:${server.port}", executable: ./chromium }
  shell: { type: cli }
steps:
  - { id: a, use: up, get: / }
  - { use: tls, get: / }
  - { use: down, get: / }
  - { use: led, get: / }
  - { use: proxied, get: / }
  - { use: up, get: "http://\${{ steps.a.text }}/" }
  - { use: orders, query: select 1 }
  - { use: stock, query: select 1 }
  - { use: other, query: select 1 }
  - { use: visitor, goto: / }
  - { use: shell, run: node server.js, background: true }
  - { use: down, get: /started }
`,
    );
    assert.equal((await json(tool, "far")).exitCode, 0);
    const told = await json(tool, "far", "--connect");
    assert.equal(told.exitCode, 1);
    const refused = `nothing listens at ${closed.host} (connection refused)`;
    const reached = problemsOf(told);
    assert.match(reached[7]?.join() ?? "", /^nothing listens at localhost:\d+ \(connection refused\)$/);
    assert.match(reached[8]?.join() ?? "", /is it a PostgreSQL server\?$/);
    assert.deepEqual(reached.toSpliced(7, 2), [
      [],
      [`127.0.0.1:${server.port} doesn't speak https`],
      [refused],
      [`nothing listens at ${closed.host}, where \`connect-to\` leads shop.example (connection refused)`],
      [`nothing listens at ${closed.host}, the resource's \`proxy\` (connection refused)`],
      [],
      // As it was told of the step before.
      [],
      [],
      [],
      [],
    ]);
    assert.equal(requests, 0);
  });

  describe("with a database that is there", () => {
    const native = postgresFolder();
    // Where there is no PostgreSQL for the tests, there are no tests of it.
    if (native === undefined) return;
    const lend = databasesForSuite(native);

    it("opens a session with its user and password, and runs no statement", async () => {
      await using tool = await toolbox();
      await using lent = await lend();
      const wrong = new URL(lent.url);
      wrong.pathname = "/nowhere";
      await tool.write(
        "books",
        `
resources:
  there: { type: sql, url: "\${{ env.THERE }}" }
  nowhere: { type: sql, url: "\${{ env.NOWHERE }}" }
steps:
  - { use: there, query: create table made (a int) }
  - { use: nowhere, query: select 1 }
`,
      );
      const { stdout } = await tool.call(["run", "books", "--dry-run", "--connect", "--json"], {
        THERE: lent.url,
        NOWHERE: wrong.href,
      });
      assert.deepEqual(problemsOf(JSON.parse(stdout)), [[], [`${wrong.host} has no database nowhere`]]);
      const made = await sql`select 1 from pg_tables where tablename = 'made'`.execute(lent.db);
      assert.deepEqual(made.rows, []);
    });
  });

  it("says that a service elsewhere runs pipelines elsewhere", async () => {
    await using tool = await toolbox();
    await tool.write("hello", "resources: { a: { type: cli } }\nsteps: [{ use: a, run: echo hello }]\n");
    const { exitCode, stderr } = await tool.call(["run", "hello", "--dry-run"], {
      PIPELINE_BASE_URL: "http://127.0.0.1:9",
      PIPELINE_API_KEY: "key",
    });
    assert.match(stderr, /of this machine; the service in use may run pipelines elsewhere/);
    assert.equal(exitCode, 0);
  });
});

function problemsOf(told: Awaited<ReturnType<typeof json>>): string[][] {
  return told["dry-runs"][0].steps.map(({ problems }: { problems: string[] }) => problems);
}

async function json(tool: Toolbox, ...args: string[]) {
  const { exitCode, stdout } = await tool.call(["run", ...args, "--dry-run", "--json"], { TOKEN: secret });
  return { exitCode, ...JSON.parse(stdout) };
}
