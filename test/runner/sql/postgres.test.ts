// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { forSuite } from "../../forSuite.ts";
import { isAlive } from "../../isAlive.ts";
import { itOn } from "../../itOn.ts";
import { handOn, Listening } from "../../listening.ts";
import { postgresFolder } from "../../postgres/installPostgres.ts";
import { recordStatements } from "../../postgres/recordStatements.ts";
import { startedPostgres } from "../../postgres/startedPostgres.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { launchTestRun, pipelineOf } from "../launch/launchTestRun.ts";
import { type TestSteps, testSteps } from "./runTestSteps.ts";

describe("an sql step on PostgreSQL", () => {
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  const folder = temporaryFolder();
  const postgres = forSuite((signal) => startedPostgres(native, signal));

  it("runs a statement, and compares rows and their count", async () => {
    await using steps = stepsOn();
    await steps.succeeds({ query: "create temporary table orders (id serial, name text, paid boolean)" });
    await steps.succeeds({
      query: "insert into orders (name, paid) values ($1, $2), ($3, $4)",
      params: ["lamp", true, "desk", null],
      expect: { "row-count": 2 },
    });
    await steps.succeeds({
      query: "select * from orders order by id",
      expect: {
        rows: [
          { name: "lamp", paid: true },
          { id: 2, paid: null },
        ],
        "row-count": 2,
      },
    });
    assert.deepEqual(steps.keptRows(), [
      { id: 1, name: "lamp", paid: true },
      { id: 2, name: "desk", paid: null },
    ]);
    assert.match(
      steps.stepContextFor.logged(),
      /\n# select \* from orders order by id\n# 2 rows in \d+ m?s\n$/,
    );
    assert.equal(
      await steps.fails({ query: "select 2 as n", expect: { rows: [{ n: 3 }], "row-count": 2 } }),
      "row-count: expected 2, got 1\n$[0].n: expected 3, got 2",
    );
    await steps.succeeds({
      query: "delete from orders where id = 1 returning name",
      expect: { rows: [{ name: "lamp" }] },
    });
    await steps.succeeds({
      query: "update orders set paid = true where id = 9",
      expect: { rows: [], "row-count": 0 },
    });
    await steps.succeeds({ query: "create temporary table more (a int)", expect: { "row-count": 0 } });
  });

  it("shows every value as JSON, none changed", async () => {
    await using steps = stepsOn();
    const columns = [
      ["9007199254740991::bigint", 9007199254740991],
      ["9007199254740993::bigint", "9007199254740993"],
      ["'-19.90'::numeric", -19.9],
      ["avg(2)", 2],
      ["100::numeric", 100],
      ["0.1234567890123456789::numeric", "0.1234567890123456789"],
      ["9007199254740994::numeric", "9007199254740994"],
      ["0.0000001::numeric", 1e-7],
      ["'NaN'::numeric", "NaN"],
      ["'-infinity'::float8", "-Infinity"],
      ["1e21::float8", 1e21],
      ["0.1::float4", 0.1],
      ["false", false],
      ["null::int", null],
      ["'\\x00ff'::bytea", "\\x00ff"],
      ["'2024-02-29'::date", "2024-02-29"],
      ["'2024-02-29 12:00:00.5'::timestamp", "2024-02-29 12:00:00.5"],
      [`'{"a": [1, null]}'::jsonb`, { a: [1, null] }],
      ["'[1.5]'::json", [1.5]],
      ["'[9007199254740993, 1e400, -7]'::json", ["9007199254740993", "1e400", -7]],
      [
        "array[[1, 2], [3, null]]",
        [
          [1, 2],
          [3, null],
        ],
      ],
      [`array['a,b', 'c"d', null]`, ["a,b", 'c"d', null]],
      ["array[9007199254740993]", ["9007199254740993"]],
      ["array['{}'::jsonb]", [{}]],
      ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
      ["'1 day'::interval", "1 day"],
      ["'ä'", "ä"],
    ] as const;
    await steps.succeeds({
      query: `select ${columns.map(([text], index) => `${text} as c${index}`).join(", ")}, 1 as c0`,
    });
    assert.deepEqual(steps.keptRows(), [
      { ...Object.fromEntries(columns.map(([, value], index) => [`c${index}`, value])), "c0:2": 1 },
    ]);
  });

  it("takes parameters as text, whose type the statement decides", async () => {
    await using steps = stepsOn();
    await steps.succeeds({
      query: "select $1::int as a, $2::numeric as b, $3 as c, $4::bool as d, $5::jsonb as e, $6::int as f",
      params: [1, 1.5, "x", true, { list: [1] }, null],
      expect: { rows: [{ a: 1, b: 1.5, c: "x", d: true, e: { list: [1] }, f: null }] },
    });
    for (const [query, given, says] of [
      ["select $1", [], "the statement takes 1 value, and `params` holds 0"],
      ["select 1", [1], "the statement takes 0 values, and `params` holds 1"],
      ["select $1, $2", [1, 2, 3], "the statement takes 2 values, and `params` holds 3"],
    ] as const)
      assert.equal(await steps.fails({ query, params: given }), says);
  });

  // brianc/node-postgres 1653 and 2495, lacion/kysely-bun-sql 33.
  it("takes a list for a column that is an array, and says what `in ($1)` wants", async () => {
    await using steps = stepsOn();
    await steps.succeeds({
      statements: [
        "create temp table lamps (id int, tags text[])",
        { query: "insert into lamps values (1, $1)", params: [["red", "a,b"]] },
        { query: "select id from lamps where tags @> $1 and not tags && $2", params: [["a,b"], []] },
      ],
      expect: { rows: [{ id: 1 }] },
    });
    assert.equal(
      await steps.fails({ query: "select 1 from pg_database where oid in ($1)", params: [[1, 2]] }),
      'invalid input syntax for type oid: "[1,2]"\nhint: `= any($1)` takes a list, `in ($1)` one value',
    );
  });

  it("takes a list for an array where the statement wants one, and for JSON elsewhere", async () => {
    await using steps = stepsOn();
    await steps.succeeds({
      query:
        "select n, $2::text[] as names, $3::jsonb as list from generate_series(1, 9) as n where n = any($1::int[])",
      params: [
        [2, 5],
        ["a,b", 'say "hi"', null],
        [1, [2]],
      ],
      expect: {
        rows: [2, 5].map((n) => ({ n, names: ["a,b", 'say "hi"', null], list: [1, [2]] })),
      },
    });
    assert.equal(
      await steps.fails({ query: "select nme\nfrom pg_database where oid = any($1)", params: [[1]] }),
      'column "nme" does not exist (line 1, column 8 of the statement)',
    );
    assert.match(
      await steps.fails({ query: "select $1::int[]; drop table orders", params: [[1]] }),
      /^a `query` is one statement/,
    );
    // A pooler may give the next statement another session, so that nothing may be left in one.
    using recorded = recordStatements();
    await steps.succeeds({
      statements: [
        "create procedure listed(a int[]) language plpgsql as 'begin raise notice ''%'', a; end'",
        { query: "call listed($1)", params: [[1, 2]] },
        "drop procedure listed",
      ],
    });
    assert.match(steps.stepContextFor.logged(), /NOTICE: \{1,2\}/);
    assert.doesNotMatch([...recorded.statements].join("\n"), /^prepare/im);
    await steps.succeeds({
      statements: [
        "create temp table t (a int[])",
        { query: "insert into t values ($1)", params: [[3]] },
        "select a from t",
      ],
      expect: { rows: [{ a: [3] }] },
    });
  });

  it("understands the addresses of providers, and does what they say of the session", async () => {
    const { password, port } = postgres();
    const address = `postgresql+psycopg2://app:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`;
    const asked = "channel_binding=prefer&connect_timeout=10&pgbouncer=true&sslmode=prefer";
    const query = { query: "select current_schema() as s", expect: { rows: [{ s: "pg_catalog" }] } };
    for (const url of [
      `"${address}?${asked}&schema=pg_catalog&target_session_attrs=read-write"`,
      `'${address}?sslmode=allow&schema=pg_catalog&target_session_attrs=any'`,
    ]) {
      await using steps = testSteps("${{ env.URL }}", folder.path, {}, { URL: url });
      await steps.succeeds(query);
    }
    const standby = `${address}?target_session_attrs=standby`;
    await using steps = testSteps("${{ env.URL }}", folder.path, {}, { URL: standby });
    assert.match(
      await steps.fails(query),
      /takes writes, against the `target_session_attrs` of the address$/,
    );
  });

  it("never ignores a second statement of a query", async () => {
    await using steps = stepsOn();
    for (const params of [[], ["a"]]) {
      assert.match(
        await steps.fails({ query: "select 1; drop table orders", params }),
        /^a `query` is one statement, and this one goes on with another; put them into a list/,
      );
    }
    await steps.succeeds({ query: "select 1; -- the end" });
  });

  it("runs a list of statements wholly or not at all", async () => {
    await using steps = stepsOn();
    await steps.succeeds({
      query: "create table t (a int unique deferrable initially deferred, b int primary key)",
    });
    await steps.succeeds({
      statements: [
        "insert into t values (1, 1)",
        { query: "insert into t values ($1, $1)", params: [2] },
        "select a from t order by a",
      ],
      expect: { rows: [{ a: 1 }, { a: 2 }] },
    });
    assert.equal(
      await steps.fails({
        statements: ["insert into t values (3, 3)", "insert into t values (4, 1)", "select 1"],
      }),
      'statement 2 of 3: duplicate key value violates unique constraint "t_pkey"\nKey (b)=(1) already exists.\nthe transaction was undone',
    );
    assert.equal(
      await steps.fails({ statements: ["insert into t values (1, 5)"] }),
      'the transaction\'s end: duplicate key value violates unique constraint "t_a_key"\nKey (a)=(1) already exists.\nthe transaction was undone',
    );
    await steps.succeeds({ query: "select max(b) as b from t", expect: { rows: [{ b: 2 }] } });
    await steps.succeeds({ query: "drop table t" });
  });

  it("runs a file of statements as one transaction, and returns what the last one does", async () => {
    await using steps = stepsOn();
    await steps.succeedsWithFile(
      `create temp table t (a int unique, b text);
create function pg_temp.twice(n int) returns int language sql as $$ select n * 2; $$;
insert into t values (1, '\${{ env.PASSWORD }}');
select * from t;
select pg_temp.twice(a) as n, b from t; -- the end`,
      { rows: [{ n: 2, b: "$${{ env.PASSWORD }}" }] },
    );
    await steps.succeedsWithFile("select * from t; insert into t values (2), (3)", {
      rows: [],
      "row-count": 2,
    });
    await steps.succeedsWithFile("select * from t; create temp table u (a int)", { "row-count": 0 });
    assert.equal(
      await steps.failsWithFile("insert into t values (4);\nselect 1;\ninsert into t values (1);\nselect 2"),
      'statements.sql: statement 3: duplicate key value violates unique constraint "t_a_key"\nKey (a)=(1) already exists.',
    );
    await steps.succeeds({ query: "select count(*) as n from t", expect: { rows: [{ n: 3 }] } });
    assert.equal(
      await steps.failsWithFile("begin;\ninsert into t values (4);\nselect\n  nme from t;\ncommit"),
      'statements.sql: column "nme" does not exist (line 4, column 3 of the file)',
    );
    await steps.succeeds({ query: "select count(*) as n from t", expect: { rows: [{ n: 3 }] } });
    assert.equal(
      await steps.failsWithFile("insert into t values (4);\nselec 1"),
      'statements.sql: syntax error at or near "selec" (line 2, column 1 of the file)',
    );
    await steps.succeedsWithFile("\ufeffselect 1 as n", { rows: [{ n: 1 }] });
    for (const dump of ["\\restrict x\nselect 1;", "copy t (a) from stdin;\n1\n\\.\n"])
      assert.match(
        await steps.failsWithFile(dump),
        /^statements\.sql: syntax error at or near .* of the file\)\nhint: .*for psql alone; `pg_dump --inserts`/,
      );
  });

  it("cancels a file of statements at its timeout", async () => {
    await using steps = stepsOn();
    await steps.succeeds({ query: "select 1" });
    await writeFile(join(folder.path, "slow.sql"), "select 1; select pg_sleep(3600); select 2");
    assert.equal(
      await steps.fails({ file: "slow.sql", timeout: "300ms" }),
      "the statement wasn't over within 300 ms, the step's `timeout`; it was cancelled",
    );
  });

  it("ends its session with the run, and what wasn't committed is undone", async () => {
    {
      await using steps = stepsOn();
      await steps.succeeds({ query: "begin" });
      await steps.succeeds({ query: "create table undone (a int)" });
    }
    await using steps = stepsOn();
    await steps.succeeds({
      query: "select to_regclass('undone') as found",
      expect: { rows: [{ found: null }] },
    });
    await untilSessionsAre(1, steps);
  });

  it("tells what is wrong with a statement, and where", async () => {
    await using steps = stepsOn();
    assert.equal(
      await steps.fails({ query: "select 'ä',\n  nme from pg_database" }),
      'column "nme" does not exist (line 2, column 3 of the statement)',
    );
    assert.match(
      await steps.fails({ query: "select length(1)" }),
      /^function length\(integer\) does not exist \(line 1, column 8 of the statement\)\nhint: /,
    );
  });

  it("says what to write where a parameter has no type, and behind a failure in a transaction", async () => {
    await using steps = stepsOn();
    assert.equal(
      await steps.fails({ query: "select $1 is null as a", params: [null] }),
      "could not determine data type of parameter $1\nhint: a parameter whose type nothing tells has it behind it, such as `$1::text`",
    );
    await steps.succeeds({ query: "begin" });
    await steps.fails({ query: "select 1/0" });
    assert.match(
      await steps.fails({ query: "select 1" }),
      /^current transaction is aborted.*\nhint: a statement before this one failed; `rollback` ends/,
    );
    await steps.succeeds({ query: "rollback" });
    await steps.succeeds({ query: "select 1" });
  });

  it("says how a parameter is written, where it is written as other databases have it", async () => {
    await using steps = stepsOn();
    const hint = "\nhint: parameters are `$1`, `$2` and so on in PostgreSQL";
    for (const query of ["select 1 where oid = ?", "select :id as a", "insert into t values (?, ?)"])
      assert.ok((await steps.fails({ query, params: [1] })).endsWith(hint), query);
    for (const query of ["selec 1::int", "selec '12:30', $1 ? 'a'"])
      assert.doesNotMatch(await steps.fails({ query }), /hint/);
  });

  it("says where in a function a statement fails, and that some run in no transaction", async () => {
    await using steps = stepsOn();
    const body =
      "create function pg_temp.f() returns int language plpgsql as $$\nbegin\n  return 1/0;\nend $$;";
    assert.match(
      await steps.failsWithFile(`${body}\nselect pg_temp.f()`),
      /^statements\.sql: statement 2: division by zero\nin PL\/pgSQL function pg_temp_\d+\.f\(\) line 3 at RETURN$/,
    );
    assert.match(
      await steps.fails({ statements: ["vacuum pg_class"] }),
      /cannot run inside a transaction block\nhint: such a statement is a `query` by itself, while no transaction is open\n/,
    );
  });

  it("notes what the server has to say while it runs", async () => {
    await using steps = stepsOn();
    await steps.succeeds({ query: "do $$ begin raise notice 'half of it'; end $$" });
    assert.match(steps.stepContextFor.logged(), /\n# NOTICE: half of it\n# 0 rows in /);
  });

  it("tells plainly why there is no connection", async () => {
    const { password, port } = postgres();
    const host = `127.0.0.1:${port}`;
    for (const [url, problem, given] of [
      [postgres().url(), `${host} refuses the user app: the password is wrong`, "wrong"],
      [
        postgres().url({ user: "app" }),
        `${host} asks for a password of the user app, and the address has none`,
      ],
      [postgres().url({ database: "shop" }), `${host} has no database shop`],
      [postgres().url({ query: "?sslmode=require" }), `${host} doesn't do TLS, which \`sslmode\` asks for`],
      ["postgres://app@127.0.0.1:1/shop", "nothing listens at 127.0.0.1:1 (connection refused)"],
      [
        "postgres://app@127.0.0.1:${{ env.PASSWORD }}/shop",
        "the port of a database's address is a number from 1 to 65535",
      ],
      [postgres().url({ query: "?sslmode=verify-full&sslrootcert=gone.pem" }), "there is no file gone.pem"],
      [
        "${{ env.PASSWORD }}",
        "a database is reached by sqlite:, postgres:// or mysql://, not by `mongodb:`",
        "mongodb://a:secret@b",
      ],
    ] as const) {
      await using steps = testSteps(url, folder.path, {}, { PASSWORD: given ?? password });
      assert.equal(await steps.fails({ query: "select 1" }), problem, url);
    }
    await using nowhere = testSteps("postgres://app@no-such-host.invalid/shop", folder.path);
    assert.match(
      await nowhere.fails({ query: "select 1" }),
      /^the host no-such-host\.invalid isn't known \(\w+\)$/,
    );
  });

  it("reaches a server by its socket's folder, and with an address that comes whole out of the environment", async () => {
    const { folder: socket, password, port } = postgres();
    const escaped = encodeURIComponent(password);
    for (const url of [
      ...(process.platform === "win32"
        ? []
        : [`postgresql://app:${escaped}@:${port}/postgres?host=${encodeURIComponent(socket)}`]),
      `postgres://app:${escaped}@127.0.0.1:${port}/postgres?application_name=mine`,
    ]) {
      await using steps = testSteps("${{ env.URL }}", folder.path, {}, { URL: url });
      await steps.succeeds({ query: "select current_user as who", expect: { rows: [{ who: "app" }] } });
    }
  });

  it("says so when the server ends the session", async () => {
    await using steps = stepsOn();
    await using other = stepsOn();
    await steps.succeeds({ query: "select pg_backend_pid() as pid" });
    const [row] = [steps.keptRows()].flat();
    await other.succeeds({ query: "select pg_terminate_backend($1)", params: [pidOf(row)] });
    await untilSessionsAre(1, other);
    assert.match(
      await steps.fails({ query: "select 1" }),
      /^127\.0\.0\.1:\d+ ended the connection: terminating connection due to administrator command, while no statement ran; the statement wasn't sent, and what comes next has a new connection$/,
    );
    await steps.succeeds({ query: "select 1" });
    await using last = stepsOn();
    const running = last.fails({ statements: ["select pg_sleep(3600)"], timeout: "1h" });
    await untilRunning(other, "select pg_sleep(3600)");
    await other.succeeds({
      query: "select pg_terminate_backend(pid) from pg_stat_activity where query like 'select pg_sleep%'",
    });
    assert.match(
      await running,
      /^statement 1 of 1: 127\.0\.0\.1:\d+ ended the connection: terminating connection due to administrator command\nthe transaction was undone$/,
    );
    // The next step has a session of its own.
    await last.succeeds({ query: "select 1" });
  });

  itOn(
    "ipv6",
    "finds a server of localhost that listens on IPv6 alone, also to cancel a statement",
    async () => {
      await using door = await Listening.of((inside) => void handOn(inside, postgres().port), "::1");
      await using steps = stepsThrough({ host: `localhost:${door.port}` });
      assert.match(
        await steps.fails({ query: "select pg_sleep(3600)", timeout: "1s" }),
        /; it was cancelled$/,
      );
    },
  );

  it("says why a pooler ends the session, whichever code it has for that", async () => {
    const sockets: Socket[] = [];
    await using door = await Listening.of((inside) => {
      sockets.push(inside);
      handOn(inside, postgres().port);
    });
    await using steps = stepsThrough(door);
    await steps.succeeds({ query: "select 1" });
    // As PgBouncer writes it.
    const fields = Buffer.from("SFATAL\0C08P01\0Mclient_idle_timeout\0\0");
    const head = Buffer.from("E\0\0\0\0");
    head.writeInt32BE(fields.length + 4, 1);
    sockets[0]?.end(Buffer.concat([head, fields]));
    await door.until(() => door.open === 0);
    assert.equal(
      await steps.fails({ query: "select 1" }),
      `${door.host} ended the connection: client_idle_timeout, while no statement ran; the statement wasn't sent, and what comes next has a new connection`,
    );
    await steps.succeeds({ query: "select 1" });
  });

  it("says at once that it has no data for `copy … from stdin`, and goes on", async () => {
    await using steps = stepsOn();
    await steps.succeeds({ query: "create temporary table copied (a int)" });
    const copy = "copy copied from stdin";
    const said =
      "a step has no data for `copy … from stdin`: insert the rows, or let a program such as `psql` copy them";
    assert.equal(await steps.fails({ query: copy }), said);
    assert.equal(
      await steps.fails({ statements: [copy, "select 1"] }),
      `statement 1 of 2: ${said}\nthe transaction was undone`,
    );
    await steps.succeeds({ query: "select count(*) as n from copied", expect: { rows: [{ n: 0 }] } });
  });

  it("cancels a statement on the server at its timeout, and undoes its transaction", async () => {
    await using watcher = stepsOn();
    await using steps = stepsOn();
    await steps.succeeds({ query: "create table slow (a int)" });
    assert.equal(
      await steps.fails({
        statements: ["insert into slow values (1)", "select pg_sleep(3600)"],
        timeout: "300ms",
      }),
      "the statement wasn't over within 300 ms, the step's `timeout`; it was cancelled",
    );
    await untilSessionsAre(1, watcher);
    await watcher.succeeds({ query: "select * from slow", expect: { rows: [] } });
    await watcher.succeeds({ query: "drop table slow" });
  });

  it("asks again to cancel a statement where the server forgets the first request", async () => {
    let connections = 0;
    await using door = await Listening.of((inside) => {
      connections += 1;
      if (connections === 2) inside.once("data", () => inside.end());
      else handOn(inside, postgres().port);
    });
    await using steps = stepsThrough(door);
    await steps.succeeds({ query: "select 1" });
    assert.equal(
      await steps.fails({ query: "select pg_sleep(3600)", timeout: "300ms" }),
      "the statement wasn't over within 300 ms, the step's `timeout`; it was cancelled",
    );
    assert.equal(connections, 3);
  });

  it("says so when the server can't be told to cancel", async () => {
    const server = createServer((inside) => {
      handOn(inside, postgres().port);
      server.close();
    });
    await using door = await Listening.of(server);
    await using steps = stepsThrough(door);
    await steps.succeeds({ query: "select 1" });
    assert.equal(
      await steps.fails({ query: "select pg_sleep(3600)", timeout: "1s" }),
      `the statement wasn't over within 1 s, the step's \`timeout\`; it may still run on the server, which couldn't be told to cancel it: nothing listens at ${door.host} (connection refused)`,
    );
  });

  it("gives up on what doesn't answer, or is no database", async () => {
    await using silent = await Listening.of(() => {});
    await using web = await Listening.of((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    await using unheard = testSteps(`postgres://app@${silent.host}/shop`, folder.path);
    assert.equal(
      await unheard.fails({ query: "select 1", timeout: "200ms" }),
      "the database didn't answer within 200 ms, the step's `timeout`",
    );
    await using strange = testSteps(`postgres://app@${web.host}/shop`, folder.path);
    assert.equal(
      await strange.fails({ query: "select 1" }),
      `${web.host} closed the connection; is it a PostgreSQL server?`,
    );
    // As MySQL greets.
    await using other = await Listening.of((socket) => socket.end("d\0\0\0\n8.0.36\0"));
    await using foreign = testSteps(`postgres://app@${other.host}/shop`, folder.path);
    assert.equal(
      await foreign.fails({ query: "select 1" }),
      `${other.host} doesn't answer as PostgreSQL does`,
    );
  });

  it("cancels a statement on the server when its run is stopped, and when its runner is killed", async () => {
    await using watcher = stepsOn();
    const pipeline = pipelineOf({
      resources: { db: { type: "sql", url: "${{ env.DATABASE_URL }}", timeout: "1h" } },
      steps: [{ use: "db", query: "select pg_sleep(7200)" }],
    });
    const { password, port } = postgres();
    const env = {
      PATH: process.env["PATH"],
      DATABASE_URL: `postgres://app:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`,
    };
    const stopped = launchTestRun(folder.path, pipeline, { env });
    await untilRunning(watcher, "select pg_sleep(7200)");
    stopped.job.stop();
    assert.deepEqual(await stopped.job.ended, { kind: "stopped" });
    await postgres().logged(/canceling statement due to user request\n.*select pg_sleep\(7200\)/);
    await untilSessionsAre(1, watcher);

    const killed = launchTestRun(folder.path, pipeline, { env });
    await untilRunning(watcher, "select pg_sleep(7200)");
    const { pid } = killed.job;
    assert.ok(pid);
    process.kill(pid, "SIGKILL");
    assert.equal((await killed.job.ended).kind, "died");
    assert.equal(isAlive(pid), false);
    if (process.platform === "linux") await untilSessionsAre(1, watcher);
  });

  it("counts rows without end, but keeps no more than it has room for", async () => {
    await using steps = stepsOn();
    await steps.succeeds({
      query: "select n from generate_series(1, 300000) n",
      expect: { "row-count": 300_000 },
    });
    assert.match(steps.stepContextFor.logged(), /\n# rows\.json holds the first 10000 of 300000 rows\n$/);
  });

  function stepsOn(): TestSteps {
    return testSteps(postgres().url(), folder.path, {}, { PASSWORD: postgres().password });
  }

  function stepsThrough({ host }: Pick<Listening, "host">): TestSteps {
    const url = `postgres://app:\${{ env.PASSWORD }}@${host}/postgres`;
    return testSteps(url, folder.path, {}, { PASSWORD: postgres().password });
  }
});

/** Asks the server until it runs a statement. */
async function untilRunning(steps: TestSteps, query: string): Promise<void> {
  const text = "select pid from pg_stat_activity where query = $1 and state = 'active'";
  const step = { query: text, params: [query], expect: { "row-count": 1 } };
  while ((await steps.run(step)).kind === "failed");
}

/** Asks the server until so many sessions of steps are open, the asking one's among them. */
async function untilSessionsAre(count: number, steps: TestSteps): Promise<void> {
  const query = "select pid from pg_stat_activity where application_name = 'pipeline-runs'";
  while ((await steps.run({ query, expect: { "row-count": count } })).kind === "failed");
}

function pidOf(row: unknown): number {
  assert.ok(typeof row === "object" && row !== null && "pid" in row && typeof row.pid === "number");
  return row.pid;
}
