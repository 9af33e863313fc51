// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Mask } from "../../../src/runner/mask/mask.ts";
import { newTraces } from "../../../src/runner/processes/processTable.ts";
import { processTable } from "../../../src/runner/processes/systemProcesses.ts";
import { SqlConnection } from "../../../src/runner/sql/sqlConnection.ts";
import { TemporaryFolder, temporaryFolder } from "../../temporaryFolder.ts";
import { launchTestRun, pipelineOf } from "../launch/launchTestRun.ts";
import { type TestSteps, testSteps } from "./runTestSteps.ts";

/** Runs for longer than any test waits, without returning a row. */
const endless = "with recursive r(n) as (select 1 union all select n + 1 from r) select max(n) from r";

describe("an sql step on SQLite", () => {
  const folder = temporaryFolder();

  it("runs a statement, and compares rows and their count", async () => {
    await using steps = fileSteps("create table orders (id integer primary key, name text, paid int)");
    await steps.succeeds({
      query: "insert into orders (name, paid) values (?, ?), (?, ?)",
      params: ["lamp", true, "desk", null],
      expect: { "row-count": 2 },
    });
    await steps.succeeds({
      query: "select * from orders order by id",
      expect: {
        rows: [
          { name: "lamp", paid: 1 },
          { id: 2, paid: null },
        ],
        "row-count": 2,
      },
    });
    assert.deepEqual(steps.keptRows(), [
      { id: 1, name: "lamp", paid: 1 },
      { id: 2, name: "desk", paid: null },
    ]);
    assert.match(
      steps.stepContextFor.logged(),
      /^# insert into orders \(name, paid\) values \(\?, \?\), \(\?, \?\)\n# 2 rows in \d+ m?s\n# select \* from orders order by id\n# 2 rows in \d+ m?s\n$/,
    );
    await steps.succeeds({
      query: "delete from orders where id = 1 returning name",
      expect: { rows: [{ name: "lamp" }] },
    });
    await steps.succeeds({
      query: "update orders set paid = 1 where id = 9",
      expect: { rows: [], "row-count": 0 },
    });
    await steps.succeeds({ query: "create table more (a)", expect: { "row-count": 0 } });
  });

  it("says what is not as expected, with the position and what came", async () => {
    await using steps = testSteps("sqlite::memory:", folder.path);
    assert.equal(
      await steps.fails({
        query: "select 2 as n, 'a' as name",
        expect: { rows: [{ n: 3, name: "b", gone: null }], "row-count": 2 },
      }),
      [
        "row-count: expected 2, got 1",
        "$[0].n: expected 3, got 2",
        '$[0].name: expected "b", got "a"',
        "$[0].gone: expected null, got nothing; $[0] has n, name",
      ].join("\n"),
    );
    const query = "select value as n from json_each('[1, 2, 3, 4, 5]')";
    assert.equal(
      await steps.fails({ query, expect: { rows: [{ n: 1 }] } }),
      'rows: expected 1, got 5:\n{"n":1}\n{"n":2}\n{"n":3}, and 2 more',
    );
    assert.equal(
      await steps.fails({ query: "select 1 where false", expect: { rows: [{ n: 1 }] } }),
      "rows: expected 1, got 0",
    );
  });

  it("shows every value as JSON, none changed", async () => {
    await using steps = testSteps("sqlite::memory:", folder.path);
    await steps.succeeds({
      query:
        "select 9007199254740991 as most, 9007199254740993 as more, -9e999 as endless, 0.1 as part, x'00ff' as bytes, null as none, char(0) || 'ä' as text, 1 as twice, 2 as twice",
    });
    assert.deepEqual(steps.keptRows(), [
      {
        most: 9007199254740991,
        more: "9007199254740993",
        endless: "-Infinity",
        part: 0.1,
        bytes: "\\x00ff",
        none: null,
        text: "\0ä",
        twice: 1,
        "twice:2": 2,
      },
    ]);
  });

  it("takes parameters in their order or by number, and only as many as there are", async () => {
    await using steps = testSteps("sqlite::memory:", folder.path);
    const types = "typeof(?) as a, typeof(?) as b, typeof(?) as c, typeof(?) as d, ? as e";
    await steps.succeeds({
      query: `select ${types}`,
      params: [1, 1.5, "1", null, { list: [1] }],
      expect: { rows: [{ a: "integer", b: "real", c: "text", d: "null", e: '{"list":[1]}' }] },
    });
    await steps.succeeds({
      query: "select $2 as b, $1 as a, $2 as c, '?' as \"?\", [ : ] from (select 1 as [ : ]) /* :no */ -- ?",
      params: ["a", false],
      expect: { rows: [{ a: "a", b: 0, c: 0, "?": "?", " : ": 1 }] },
    });
    await steps.succeeds({ query: "select ?1 as a", params: [7], expect: { rows: [{ a: 7 }] } });
    for (const [query, params, problem] of [
      ["select ?", [], "the statement takes 1 value, and `params` holds 0"],
      ["select ?, ?", [1, 2, 3], "the statement takes 2 values, and `params` holds 3"],
      ["select $1, $3", [1, 2, 3], "the statement takes the values 1, 3, and `params` holds 3"],
      ["select :name", [1], "the parameter `:name` has no number; write `?`, or `$1`, `$2` and so on"],
      ["select ?, $1", [1, 2], "a statement has parameters as `?` or with numbers, not both"],
    ] as const) {
      assert.equal(await steps.fails({ query, params }), problem);
    }
  });

  it("says how a list is looked through where `in (?)` would find nothing", async () => {
    await using steps = testSteps("sqlite::memory:", folder.path);
    const params = ["a", [1, 2]];
    for (const written of ["in (?)", "IN( $2 )"])
      assert.equal(
        await steps.fails({
          query: `select 1 where 'a' = ${written.includes("$") ? "$1" : "?"} and 1 ${written}`,
          params,
        }),
        `a list is one parameter, which \`${written}\` compares as a whole: write \`in (select value from json_each(?))\``,
      );
    const query =
      "select 1 as n -- was: where 1 in ($2)\nwhere 'is it?' <> 'a' and 'a' in (?) and 1 in (select value from json_each(?))";
    await steps.succeeds({ query, params, expect: { rows: [{ n: 1 }] } });
  });

  it("never ignores a second statement of a query", async () => {
    await using steps = fileSteps("create table t (a)");
    assert.match(
      await steps.fails({ query: "insert into t values (1); delete from t" }),
      /^a `query` is one statement, and this one goes on with another; put them into a list, as `statements`$/,
    );
    await steps.succeeds({ query: "select * from t", expect: { rows: [] } });
    await steps.succeeds({
      query: "select 'ä;--' as a; -- the end\n /* ; */ ;",
      expect: { rows: [{ a: "ä;--" }] },
    });
  });

  it("runs a list of statements wholly or not at all", async () => {
    await using steps = fileSteps("create table t (a int unique)");
    await steps.succeeds({
      statements: [
        "insert into t values (1)",
        { query: "insert into t values (?)", params: [2] },
        "select a from t",
      ],
      expect: { rows: [{ a: 1 }, { a: 2 }] },
    });
    assert.match(steps.stepContextFor.logged(), /^# 1 of 3: insert into t values \(1\)\n# 2 of 3: /);
    assert.equal(
      await steps.fails({ statements: ["insert into t values (3)", "insert into t values (1)", "select 1"] }),
      "statement 2 of 3: UNIQUE constraint failed: t.a\nthe transaction was undone",
    );
    await steps.succeeds({ query: "select max(a) as a from t", expect: { rows: [{ a: 2 }] } });
  });

  it("runs a file of statements one by one, and returns what the last one does", async () => {
    await using steps = testSteps("sqlite::memory:", folder.path, {}, { SECRET: "filled in" });
    await steps.succeedsWithFile(
      `-- The lamps; and a note.
create table lamps (name text unique, note text);
insert into lamps values ('a;b', '-- none'), ('\${{ env.SECRET }}', null) /* ; */;
create trigger t after insert on lamps begin update lamps set note = 'new' where name = new.name; end;
insert into lamps (name) values ('c');
select name, note from lamps order by name; -- the end`,
      {
        rows: [
          { name: "$${{ env.SECRET }}", note: null },
          { name: "a;b", note: "-- none" },
          { name: "c", note: "new" },
        ],
      },
    );
    assert.match(steps.stepContextFor.logged(), /^# statements\.sql\n# 3 rows in /);
    await steps.succeedsWithFile("begin; delete from lamps; commit;", { "row-count": 0 });
    await steps.succeedsWithFile("insert into lamps (name) values ('d'), ('e')", { "row-count": 2 });
  });

  it("says in which line of a file a statement fails, and undoes what the file has begun", async () => {
    await using steps = testSteps("sqlite::memory:", folder.path);
    assert.equal(
      await steps.failsWithFile(
        "create table t (a int unique);\ninsert into t values (1);\nbegin;\ninsert into t values (2);\n\n-- again\ninsert\n into t values (1);\ncommit;",
      ),
      "statements.sql: line 7: UNIQUE constraint failed: t.a",
    );
    await steps.succeeds({ query: "select a from t", expect: { rows: [{ a: 1 }] } });
    assert.equal(
      await steps.failsWithFile("select 1;\nselec 2"),
      'statements.sql: line 2: near "selec": syntax error',
    );
    assert.equal(
      await steps.failsWithFile("select ?"),
      "statements.sql: line 1: the statement takes 1 value, and `params` holds 0",
    );
  });

  it("runs no file that isn't a text of the project's", async () => {
    await using steps = testSteps("sqlite::memory:", folder.path);
    const path = join(folder.path, "statements.sql");
    const why = async (file = "statements.sql") => steps.fails({ file });
    assert.equal(
      await why(),
      `\`statements.sql\` can't be read: it isn't in the project's folder, ${folder.path}`,
    );
    writeFileSync(path, "-- later\n;\n");
    assert.equal(await why(), "`statements.sql` holds no statement");
    writeFileSync(path, `select 1;${" ".repeat(1024 * 1024)}`);
    assert.equal(await why(), "`statements.sql` is larger than 1 MiB, the most that is run");
    writeFileSync(path, Buffer.from("select 1;".padEnd(1024 * 1024)));
    await steps.succeeds({ file: "statements.sql" });
    writeFileSync(path, Buffer.from("select 'ä'", "latin1"));
    assert.match(await why(), /^`statements\.sql` can't be read: line 1: this is not UTF-8/);
    mkdirSync(join(folder.path, "folder"));
    assert.equal(await why("folder"), "`folder` can't be read: it is no plain file");
    if (process.platform === "win32") return;
    await using elsewhere = await TemporaryFolder.make();
    writeFileSync(join(elsewhere.path, "other.sql"), "select 1");
    symlinkSync(join(elsewhere.path, "other.sql"), join(folder.path, "link.sql"));
    assert.equal(
      await why("link.sql"),
      "`link.sql` can't be read: it leads out of the project's folder: put the file itself there",
    );
  });

  it("undoes a transaction whose end fails", async () => {
    await using steps = fileSteps(
      "create table p (id int primary key); create table c (p int references p deferrable initially deferred)",
    );
    assert.equal(
      await steps.fails({ statements: ["insert into c values (1)"] }),
      "the transaction's end: FOREIGN KEY constraint failed\nthe transaction was undone",
    );
    await steps.succeeds({ query: "select * from c", expect: { rows: [] } });
  });

  it("keeps its connection for the run's later steps, and what they don't commit is undone", async () => {
    await using memory = testSteps("sqlite::memory:", folder.path);
    await memory.succeeds({ query: "create table t (a)" });
    await memory.succeeds({ query: "insert into t values (1)" });
    await memory.succeeds({ query: "select a from t", expect: { rows: [{ a: 1 }] } });
    {
      await using steps = fileSteps("pragma journal_mode = wal; create table t (a)");
      await steps.succeeds({ query: "begin" });
      await steps.succeeds({ query: "insert into t values (1)" });
      assert.match(
        await steps.fails({ statements: ["select 1"] }),
        /^cannot start a transaction within a transaction$/,
      );
    }
    assert.deepEqual(readdirSync(folder.path), ["test.db"]);
    await using again = fileSteps("select 1");
    await again.succeeds({ query: "select * from t", expect: { rows: [] } });
  });

  it("makes a missing file only where the address says so", async () => {
    await using steps = testSteps("sqlite:new.db", folder.path);
    assert.equal(
      await steps.fails({ query: "select 1" }),
      `there is no database new.db (${join(folder.path, "new.db")}); to have it made, write \`sqlite:new.db?mode=rwc\``,
    );
    assert.equal(existsSync(join(folder.path, "new.db")), false);
    await using maker = testSteps("sqlite:new.db?mode=rwc", folder.path);
    await maker.succeeds({ query: "create table t (a)" });
    await steps.succeeds({ query: "select * from t", expect: { rows: [] } });
    await using nowhere = testSteps("sqlite:gone/new.db?mode=rwc", folder.path);
    assert.equal(
      await nowhere.fails({ query: "select 1" }),
      `gone/new.db can't be made: there is no folder ${join(folder.path, "gone")}`,
    );
  });

  it("tells plainly what is wrong with a database or a statement", async () => {
    mkdirSync(join(folder.path, "folder.db"));
    writeFileSync(
      join(folder.path, "text.db"),
      "This is no database, but a text that is long enough. ".repeat(20),
    );
    for (const [url, query, problem] of [
      ["sqlite:folder.db", "select 1", /^folder\.db is a folder and no database$/],
      ["sqlite:text.db", "select * from t", /^text\.db is no SQLite database$/],
      ["sqlite::memory:", "select * from t", /^no such table: t$/],
      ["sqlite::memory:", "selec 1", /^near "selec": syntax error$/],
      ["sqlite::memory:", 'select "a"', /^no such column: "a"/],
      ["${{ env.URL }}", "select 1", /^there is no database elsewhere\.db /],
    ] as const) {
      await using steps = testSteps(url, folder.path, {}, { URL: "sqlite:elsewhere.db" });
      assert.match(await steps.fails({ query }), problem);
    }
    await using blank = testSteps("sqlite::memory:", folder.path, {}, { EMPTY: " -- nothing" });
    assert.equal(await blank.fails({ query: "${{ env.EMPTY }}" }), "there is no statement in this text");
    fileSteps("create table t (a)");
    await using readOnly = testSteps("sqlite:test.db?mode=ro", folder.path);
    await readOnly.succeeds({ statements: ["select * from t"], expect: { rows: [] } });
    assert.equal(
      await readOnly.fails({ query: "insert into t values (1)" }),
      "test.db is opened with `mode=ro`, so it can't be changed",
    );
  });

  it("waits for another program's lock, for half of its timeout", async () => {
    await using steps = fileSteps("create table t (a)");
    await steps.succeeds({ query: "select 1" });
    using other = new DatabaseSync(join(folder.path, "test.db"));
    other.exec("begin immediate");
    assert.equal(
      await steps.fails({ statements: ["insert into t values (1)"], timeout: "2s" }),
      "another program holds a lock on test.db; it was waited for 1 s",
    );
    const waiting = steps.run({ query: "insert into t values (1)", timeout: "60s" });
    other.exec("commit");
    assert.deepEqual(await waiting, { kind: "succeeded" });
  });

  it("cancels a statement without end at its timeout", async () => {
    await using steps = fileSteps("create table t (a)");
    await steps.succeeds({ query: "select 1" });
    assert.equal(
      await steps.fails({ statements: ["insert into t values (1)", endless], timeout: "300ms" }),
      "the statement wasn't over within 300 ms, the step's `timeout`; it was cancelled",
    );
    await using later = fileSteps("select 1");
    await later.succeeds({ query: "select * from t", expect: { rows: [] } });
    await using inMemory = testSteps("sqlite::memory:", folder.path);
    await inMemory.succeeds({ query: "select 1" });
    assert.match(
      await inMemory.fails({ query: endless, timeout: "300ms" }),
      /; it was cancelled, and what was in the memory is gone with it$/,
    );
  });

  it("cancels a statement without end when the run is ended", async () => {
    const ending = new AbortController();
    await using steps = testSteps("sqlite::memory:", folder.path, { signal: ending.signal });
    await steps.succeeds({ query: "select 1" });
    const running = steps.fails({ query: endless, timeout: "1h" });
    ending.abort();
    assert.equal(await running, "the run was ended before the statement was over; it was cancelled");
  });

  it("leaves no process when its run is stopped in the middle of a statement", async () => {
    fileSteps("create table t (a)");
    const pipeline = pipelineOf({
      resources: { db: { type: "sql", url: "sqlite:test.db", timeout: "1h" } },
      steps: [{ use: "db", statements: ["insert into t values (1)", endless] }],
    });
    const began = Promise.withResolvers<void>();
    const { job, runId } = launchTestRun(folder.path, pipeline, { onOutput: () => began.resolve() });
    await began.promise;
    job.stop();
    assert.deepEqual(await job.ended, { kind: "stopped" });
    const left = await processTable(process.platform).processesOf(newTraces(runId, job.pid));
    assert.deepEqual(left, []);
    await using later = fileSteps("select 1");
    await later.succeeds({ query: "select * from t", expect: { rows: [] } });
  });

  it("says so when the process of its database is gone", async () => {
    await using steps = testSteps("sqlite::memory:", folder.path, {});
    await steps.succeeds({ query: "select 1" });
    const { shared } = steps.stepContextFor.stepContext;
    const connection = await shared.get(SqlConnection, "db", () => assert.fail("there is none"));
    await connection.stop();
    assert.match(await steps.fails({ query: "select 1" }), /^the process for SQLite has ended \(with 0\)$/);
  });

  it("counts rows without end, but keeps no more than it has room for", async () => {
    await using steps = testSteps("sqlite::memory:", folder.path);
    const rows = (count: number) =>
      `with recursive r(n) as (select 1 union all select n + 1 from r limit ${count})`;
    await steps.succeeds({ query: `${rows(200_000)} select n from r`, expect: { "row-count": 200_000 } });
    assert.match(steps.stepContextFor.logged(), /\n# rows\.json holds the first 10000 of 200000 rows\n$/);
    await steps.succeeds({
      query: `${rows(300)} select n, hex(zeroblob(50000)) as a, zeroblob(50000) as b from r`,
      expect: { "row-count": 300 },
    });
    const kept = steps.stepContextFor.kept.at(-1)?.content;
    assert.ok(typeof kept === "string" && kept.length <= 1024 * 1024, "rows.json is too large");
    assert.match(steps.stepContextFor.logged(), /\n# rows\.json holds the first 5 of 300 rows\n$/);
    assert.equal(
      await steps.fails({
        query: "select zeroblob(20000000) as a",
        expect: { rows: [{}] },
      }),
      "rows: they hold more than 10 MiB, the most that is compared",
    );
    assert.deepEqual(steps.keptRows(), []);
  });

  it("shows no secret in what it says of rows", async () => {
    const mask = new Mask(["s3cr3t-value"]);
    await using steps = testSteps("sqlite::memory:", folder.path, { mask });
    assert.equal(
      await steps.fails({
        query: `select '${"x".repeat(198)}s3cr3t-value' as a`,
        expect: { rows: [{ a: 1 }] },
      }),
      `$[0].a: expected 1, got "${"x".repeat(198)}*…`,
    );
  });

  /** Steps on a file in which something was run before. */
  function fileSteps(before: string): TestSteps {
    const database = new DatabaseSync(join(folder.path, "test.db"));
    database.exec(before);
    database.close();
    return testSteps("sqlite:test.db", folder.path);
  }
});
