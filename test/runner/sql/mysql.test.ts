// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { forSuite } from "../../forSuite.ts";
import { isAlive } from "../../isAlive.ts";
import { itOn } from "../../itOn.ts";
import { handOn, Listening } from "../../listening.ts";
import { mysqlPrograms } from "../../mysql/mysqlPrograms.ts";
import { startedMysql } from "../../mysql/startedMysql.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { launchTestRun, pipelineOf } from "../launch/launchTestRun.ts";
import { type TestSteps, testSteps } from "./runTestSteps.ts";

/** One text for both kinds of server: `long/runner/sql/mariadb.test.ts` loads this file with a query that names the other. */
const isMariadb = import.meta.url.endsWith("?MariaDB");

// Where this machine can't run the server, there are no tests of it.
for (const programs of mysqlPrograms().filter(({ name }) => name === (isMariadb ? "MariaDB" : "MySQL"))) {
  describe(`an sql step on ${programs.name}`, () => {
    const folder = temporaryFolder();
    const mysql = forSuite((signal) => startedMysql(programs, signal));

    it("runs a statement, and compares rows and their count", async () => {
      await using steps = stepsOn();
      await steps.succeeds({
        query: "create temporary table orders (id int auto_increment primary key, name text, paid boolean)",
        expect: { "row-count": 0 },
      });
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
        /\n# select \* from orders order by id\n# 2 rows in \d+ m?s\n$/,
      );
      assert.equal(
        await steps.fails({ query: "select 2 as n", expect: { rows: [{ n: 3 }], "row-count": 2 } }),
        "row-count: expected 2, got 1\n$[0].n: expected 3, got 2",
      );
      await steps.succeeds({
        query: "update orders set paid = true where id = 1",
        expect: { rows: [], "row-count": 1 },
      });
      await steps.succeeds({
        query: "update orders set paid = true where id = 9",
        expect: { "row-count": 0 },
      });
    });

    it("shows every value as JSON, none changed", async () => {
      await using steps = stepsOn();
      const columns = [
        ["bigint", "9007199254740991", 9007199254740991],
        ["bigint", "-9007199254740993", "-9007199254740993"],
        ["bigint unsigned", "18446744073709551615", "18446744073709551615"],
        ["decimal(30,2)", "-19.90", -19.9],
        ["decimal(30,19)", "0.1234567890123456789", "0.1234567890123456789"],
        ["decimal(20)", "9007199254740994", "9007199254740994"],
        ["float", "0.1", 0.1],
        ["float", "16777217", 16777216],
        ["double", "1e21", 1e21],
        ["double", "0.1", 0.1],
        ["boolean", "true", 1],
        ["tinyint(1)", "-5", -5],
        ["bit(1)", "b'1'", 1],
        [
          "bit(64)",
          "b'1111111111111111111111111111111111111111111111111111111111111111'",
          "18446744073709551615",
        ],
        ["year", "2024", 2024],
        ["int", "null", null],
        ["varbinary(9)", "x'00ff'", "\\x00ff"],
        ["blob", "x'00ff'", "\\x00ff"],
        ["date", "'2024-02-29'", "2024-02-29"],
        ["datetime", "'2024-02-29 12:00:00'", "2024-02-29 12:00:00"],
        ["datetime(3)", "'2024-02-29 12:00:00.5'", "2024-02-29 12:00:00.500"],
        ["datetime(6)", "'2024-02-29 00:00:00'", "2024-02-29 00:00:00.000000"],
        ["timestamp null", "'2024-02-29 12:00:00'", "2024-02-29 12:00:00"],
        ["time", "'-838:59:59'", "-838:59:59"],
        ["time(6)", "'01:02:03.000004'", "01:02:03.000004"],
        ["time(2)", "'-00:00:00.5'", "-00:00:00.50"],
        ["time", "0", "00:00:00"],
        ["enum('a','b')", "'b'", "b"],
        ["set('a','b')", "'a,b'", "a,b"],
        ["text", "'ä😀'", "ä😀"],
        ["point", "point(1, 2)", "\\x000000000101000000000000000000f03f0000000000000040"],
        ...(isMariadb
          ? ([
              [
                "json",
                `'{"a": [1, null, 9007199254740993, 1e400]}'`,
                { a: [1, null, "9007199254740993", "1e400"] },
              ],
              ["uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
              ["inet6", "'::1'", "::1"],
            ] as const)
          : []),
      ] as const;
      await steps.succeeds({
        query: `create temporary table t (${columns.map(([type], index) => `c${index} ${type}`).join(", ")}) character set utf8mb4`,
      });
      await steps.succeeds({
        query: `insert into t values (${columns.map(([, value]) => value).join(", ")})`,
      });
      await steps.succeeds({ query: "select t.*, 1 as c0 from t" });
      assert.deepEqual(steps.keptRows(), [
        { ...Object.fromEntries(columns.map(([, , value], index) => [`c${index}`, value])), "c0:2": 1 },
      ]);
      if (isMariadb) {
        await steps.succeeds({ query: "set check_constraint_checks = 0" });
        await steps.succeeds({ query: "create temporary table u (a json)" });
        await steps.succeeds({ query: "insert into u values ('{')" });
        await steps.succeeds({ query: "select a from u", expect: { rows: [{ a: "{" }] } });
      }
      // A file is answered in another way.
      await steps.succeedsWithFile("select t.*, 1 as c0 from t");
      const [kept] = [steps.keptRows()].flat();
      assert.deepEqual(kept, {
        ...Object.fromEntries(columns.map(([, , value], index) => [`c${index}`, value])),
        ...{ c7: 16777200, "c0:2": 1 },
      });
    });

    it("keeps the type of a parameter", async () => {
      await using steps = stepsOn();
      await steps.succeeds({
        query:
          "create temporary table t (a bigint, b decimal(9,2), c text, d boolean, e text, f int, g bigint unsigned)",
      });
      await steps.succeeds({
        query: "insert into t values (?, ?, ?, ?, ?, ?, ?)",
        params: [9007199254740991, 1.5, "it's \\ ☃", false, { list: [1] }, null, "18446744073709551615"],
      });
      await steps.succeeds({
        query: "select * from t where a = ? and b = ? and d = ? limit ?",
        params: [9007199254740991, 1.5, false, 1],
        expect: {
          rows: [
            {
              a: 9007199254740991,
              b: 1.5,
              c: "it's \\ ☃",
              d: 0,
              e: '{"list":[1]}',
              f: null,
              g: "18446744073709551615",
            },
          ],
        },
      });
      await steps.succeeds({
        query: "select ? as hurt, '?' as mark",
        params: ["' or 1=1 -- "],
        expect: { rows: [{ hurt: "' or 1=1 -- ", mark: "?" }] },
      });
      if (isMariadb) {
        await steps.succeeds({
          query:
            "select f from (select 1 as f union select 2 union select 3) as t where json_contains(?, cast(f as char))",
          params: [[1, 3]],
          expect: { rows: [{ f: 1 }, { f: 3 }] },
        });
        await steps.succeeds({
          query:
            "select f from (select 'eu' as f union select 'us') as t where json_contains(?, json_quote(f))",
          params: [["eu", "as"]],
          expect: { rows: [{ f: "eu" }] },
        });
      }
      for (const [params, instead] of [
        [[1, 3], "for a column `id`, write `json_contains(?, cast(id as char))`"],
        [["eu"], "for a column `name`, write `json_contains(?, json_quote(name))`"],
      ] as const)
        assert.equal(
          await steps.fails({ query: "select 1 where 1 in (?)", params: [params] }),
          `a list is one parameter, which \`in (?)\` compares as a whole: ${instead}`,
        );
      assert.equal(
        await steps.fails({ query: "select ?, ?", params: [1] }),
        "the statement takes 2 values, and `params` holds 1",
      );
      assert.equal(
        await steps.fails({ query: "select 1", params: [1] }),
        "the statement takes 0 values, and `params` holds 1",
      );
    });

    it("never ignores a second statement of a query", async () => {
      await using steps = stepsOn();
      for (const [query, params] of [
        ["select 1; drop table orders", []],
        ["select ?; drop table orders", ["a"]],
        ["begin; drop table orders", []],
      ] as const) {
        assert.match(
          await steps.fails({ query, params }),
          /^a `query` is one statement, and this one goes on with another; put them into a list/,
          query,
        );
      }
      await steps.succeeds({ query: "select 1;" });
    });

    it("runs what can't be prepared, and returns what a procedure does", async () => {
      await using steps = stepsOn();
      await steps.succeeds({ query: "create procedure two() begin select 1 as n; select 2 as n; end" });
      await steps.succeeds({ query: "call two()", expect: { rows: [{ n: 2 }] } });
      await steps.succeeds({ query: "drop procedure two" });
      await steps.succeeds({ query: "lock tables mysql.user read" });
      await steps.succeeds({ query: "unlock tables" });
    });

    it("runs a list of statements wholly or not at all", async () => {
      await using steps = stepsOn();
      await steps.succeeds({ query: "create table t (a int unique, b int) engine = innodb" });
      await steps.succeeds({
        statements: [
          "insert into t values (1, 1)",
          { query: "insert into t values (?, ?)", params: [2, 2] },
          "select a from t order by a",
        ],
        expect: { rows: [{ a: 1 }, { a: 2 }] },
      });
      assert.equal(
        await steps.fails({
          statements: ["insert into t values (3, 3)", "select 1", "insert into t values (1, 4)", "select 1"],
        }),
        "statement 3 of 4: Duplicate entry '1' for key 'a'\nthe transaction was undone",
      );
      await steps.succeeds({ query: "select max(b) as b from t", expect: { rows: [{ b: 2 }] } });
      await steps.succeeds({ query: "drop table t" });
    });

    it("says what a statement has committed that changes tables, and begins anew behind it", async () => {
      await using steps = stepsOn();
      await steps.succeeds({ query: "create table t (a int unique) engine = innodb" });
      assert.equal(
        await steps.fails({
          statements: [
            "insert into t values (1)",
            "alter table t add b int",
            "insert into t values (2, 2)",
            "insert into t values (1, 3)",
          ],
        }),
        "statement 4 of 4: Duplicate entry '1' for key 'a'\nthe transaction was undone, but for what statement 2 has committed",
      );
      await steps.succeeds({ query: "select * from t", expect: { rows: [{ a: 1, b: null }] } });
      assert.equal(
        await steps.fails({ statements: ["insert into t values (5, 5)", "create table t (a int)"] }),
        "statement 2 of 2: Table 't' already exists\nthe transaction was undone, but for what statement 2 has committed",
      );
      await steps.succeeds({ query: "select count(*) as n from t", expect: { rows: [{ n: 2 }] } });
      await steps.succeeds({ query: "drop table t" });
    });

    it("runs a file of statements one by one, and returns what the last one does", async () => {
      await using steps = stepsOn();
      await steps.succeedsWithFile(
        `/*!40101 set names utf8mb4 */;
create table t (a int unique, b text) engine = innodb;
insert into t values (1, '\${{ env.PASSWORD }}'), (2, 'a;b'); # two
create trigger r before insert on t for each row begin set new.b = concat(new.b, '!'); set @n = 1; end;
insert into t values (3, 'ä😀');
select * from t order by a /* the end */;`,
        {
          rows: [
            { a: 1, b: "$${{ env.PASSWORD }}" },
            { a: 2, b: "a;b" },
            { a: 3, b: "ä😀!" },
          ],
        },
      );
      await steps.succeedsWithFile("select * from t; delete from t where a > 1", {
        rows: [],
        "row-count": 2,
      });
      assert.equal(
        await steps.failsWithFile(
          "insert into t values (2, '');\nselect 1;\ninsert into t values (1, ''); select 2",
        ),
        "statements.sql: statement 3: Duplicate entry '1' for key 'a'",
      );
      assert.match(
        await steps.failsWithFile("begin;\ninsert into t values (3, '');\n\nselec 1;\ncommit"),
        /^statements\.sql: statement 3: You have an error in your SQL syntax; .* near 'selec 1/,
      );
      await steps.succeeds({ query: "select a from t", expect: { rows: [{ a: 1 }, { a: 2 }] } });
      await steps.succeedsWithFile("\ufeffselect 1 as n", { rows: [{ n: 1 }] });
      assert.match(
        await steps.failsWithFile("DELIMITER //\ncreate procedure p() begin select 1; end //"),
        /\nhint: `DELIMITER` is for the program mysql alone;/,
      );
      await steps.succeeds({ query: "drop table t" });
      await writeFile(
        join(folder.path, "slow.sql"),
        "select 1; select sleep(3600); create table late (a int)",
      );
      assert.equal(
        await steps.fails({ file: "slow.sql", timeout: "300ms" }),
        "the statement wasn't over within 300 ms, the step's `timeout`; it was cancelled",
      );
      await steps.succeeds({ query: "show tables", expect: { rows: [] } });
    });

    it("says that a transaction is undone which the server gives up for another one", async () => {
      await using steps = stepsOn();
      await using others = stepsOn();
      await steps.succeeds({ query: "create table t (a int primary key, b int) engine = innodb" });
      await steps.succeeds({ query: "insert into t values (1, 0), (2, 0), (3, 0)" });
      await others.succeeds({ query: "begin" });
      // Of two, the server gives up the one that has changed less.
      await others.succeeds({ query: "update t set b = 1 where a in (1, 3)" });
      const undone = steps.fails({
        statements: ["update t set b = 2 where a = 2", "update t set b = 2 where a = 1"],
      });
      await untilRunning(others, "update t set b = 2 where a = 1");
      await others.succeeds({ query: "update t set b = 1 where a = 2" });
      assert.match(await undone, /^statement 2 of 2: Deadlock found .*\nthe transaction was undone$/);
      await others.succeeds({ query: "commit" });
      await steps.succeeds({ query: "drop table t" });
    });

    it("ends its session with the run, and what wasn't committed is undone", async () => {
      await using steps = stepsOn();
      await steps.succeeds({ query: "create table t (a int) engine = innodb" });
      {
        await using others = stepsOn();
        await others.succeeds({ query: "begin" });
        await others.succeeds({ query: "insert into t values (1)" });
        await others.succeeds({ query: "select * from t", expect: { rows: [{ a: 1 }] } });
      }
      await untilSessionsAre(1, steps);
      await steps.succeeds({ query: "select * from t", expect: { rows: [] } });
      await steps.succeeds({ query: "drop table t" });
    });

    it("tells what is wrong with a statement, and notes the server's warnings", async () => {
      await using steps = stepsOn();
      assert.match(await steps.fails({ query: "select nme" }), /^Unknown column 'nme' in '.*'$/);
      for (const query of ["select $1 as a", "select :a as a"])
        assert.match(await steps.fails({ query, params: [1] }), /\nhint: a parameter is `\?` in MySQL$/);
      assert.match(
        await steps.fails({ query: "select 'ä',\n  from t" }),
        /^You have an error in your SQL syntax; .* near 'from t' at line 2$/,
      );
      await steps.succeeds({ query: "select '1x' + ? as n", params: [1], expect: { rows: [{ n: 2 }] } });
      assert.match(
        steps.stepContextFor.logged(),
        /\n# WARNING: Truncated incorrect DOUBLE value: '1x'\n# 1 row in /,
      );
      await steps.succeeds({ query: "drop table if exists gone" });
      assert.match(steps.stepContextFor.logged(), /\n# NOTE: Unknown table 'shop\.gone'\n# 0 rows in /);
    });

    it("gives the server none of this machine's files, and takes `count` for a name", async () => {
      await using steps = stepsOn();
      await steps.succeeds({ query: "create temporary table count (a text)" });
      assert.match(
        await steps.fails({ query: "load data local infile '/etc/hostname' into table count" }),
        /not allowed|disabled/,
      );
      await steps.succeeds({ query: "select * from count", expect: { rows: [] } });
    });

    it("tells plainly why there is no connection", async () => {
      const { password, port } = mysql();
      const host = `127.0.0.1:${port}`;
      for (const [url, problem, given] of [
        [
          mysql().url(),
          `${host} refuses the user app: the password is wrong, or the user may not connect from here or without TLS (\`ssl-mode\`)`,
          "wrong",
        ],
        [
          mysql().url({ user: "app" }),
          `${host} refuses the user app: the address has no password, or the user may not connect from here or without TLS (\`ssl-mode\`)`,
        ],
        [mysql().url({ database: "gone" }), `${host} has no database gone`],
        ["mysql://app@127.0.0.1:1/shop", "nothing listens at 127.0.0.1:1 (connection refused)"],
        ["mysql://app@h/shop?socket=/gone.sock", "nothing listens at /gone.sock"],
        [
          "mysql://app@127.0.0.1:${{ env.PASSWORD }}/shop",
          "the port of a database's address is a number from 1 to 65535",
        ],
        [mysql().url({ query: "?ssl-ca=gone.pem" }), "there is no file gone.pem"],
        ...(isMariadb
          ? [
              [
                mysql().url({ query: "?ssl-mode=REQUIRED" }),
                `${host} doesn't do TLS, which \`ssl-mode\` asks for`,
              ] as const,
            ]
          : []),
      ] as const) {
        await using steps = testSteps(url, folder.path, {}, { PASSWORD: given ?? password });
        assert.equal(await steps.fails({ query: "select 1" }), problem, url);
      }
      await using nowhere = testSteps("mysql://app@no-such-host.invalid/shop", folder.path);
      assert.match(
        await nowhere.fails({ query: "select 1" }),
        /^the host no-such-host\.invalid isn't known \(\w+\)$/,
      );
    });

    it("reaches a server by its socket, and with an address that comes whole out of the environment", async () => {
      const { password, port, socket } = mysql();
      const escaped = encodeURIComponent(password);
      for (const url of [
        `mysql://app:${escaped}@localhost/shop?socket=${encodeURIComponent(socket)}`,
        `"mariadb+asyncmy://app:${escaped}@127.0.0.1:${port}/shop?charset=utf8mb4&connect_timeout=10&reconnect=true"`,
        `mysql://app:${escaped}@127.0.0.1:${port}`,
        ...(isMariadb ? [`mysql://app:${escaped}@127.0.0.1:${port}/shop?ssl-mode=PREFERRED`] : []),
      ]) {
        await using steps = testSteps("${{ env.URL }}", folder.path, {}, { URL: url });
        await steps.succeeds({
          query: "select substring_index(user(), '@', 1) as who",
          expect: { rows: [{ who: "app" }] },
        });
      }
    });

    it("says so when the server ends the session, and connects anew for the next step", async () => {
      await using steps = stepsOn();
      await using other = stepsOn();
      await steps.succeeds({ query: "select connection_id() as id" });
      const [row] = [steps.keptRows()].flat();
      await other.succeeds({ query: "kill ?", params: [idOf(row)] });
      await untilSessionsAre(1, other);
      assert.match(
        await steps.fails({ query: "select 1" }),
        /^127\.0\.0\.1:\d+ (?:closed|ended) the connection.*, while no statement ran; the statement wasn't sent, and what comes next has a new connection$/,
      );
      await steps.succeeds({ query: "select 1" });
      const running = steps.fails({ statements: ["select sleep(3600)"], timeout: "1h" });
      await other.succeeds({ query: "kill ?", params: [await untilRunning(other, "select sleep(3600)")] });
      assert.match(
        await running,
        /^statement 1 of 1: 127\.0\.0\.1:\d+ (?:ended the connection: .*|closed the connection before the statement was over)\nthe transaction was undone$/,
      );
    });

    it("cancels a statement on the server at its timeout, and undoes its transaction", async () => {
      await using watcher = stepsOn();
      await using steps = stepsOn();
      await steps.succeeds({ query: "create table slow (a int) engine = innodb" });
      assert.equal(
        await steps.fails({
          statements: ["insert into slow values (1)", "select sleep(3600)", "insert into slow values (2)"],
          timeout: "300ms",
        }),
        "the statement wasn't over within 300 ms, the step's `timeout`; it was cancelled",
      );
      await untilSessionsAre(1, watcher);
      await watcher.succeeds({ query: "select * from slow", expect: { rows: [] } });
      await watcher.succeeds({ query: "drop table slow" });
    });

    itOn(
      "ipv6",
      "finds a server of localhost that listens on IPv6 alone, also to cancel a statement",
      async () => {
        await using door = await Listening.of((inside) => void handOn(inside, mysql().port), "::1");
        await using steps = stepsThrough({ host: `localhost:${door.port}` });
        assert.match(
          await steps.fails({ query: "select sleep(3600)", timeout: "1s" }),
          /; it was cancelled$/,
        );
      },
    );

    it("says so when the server can't be told to cancel", async () => {
      const server = createServer((inside) => {
        handOn(inside, mysql().port);
        server.close();
      });
      await using door = await Listening.of(server);
      await using steps = stepsThrough(door);
      await steps.succeeds({ query: "select 1" });
      assert.equal(
        await steps.fails({ query: "select sleep(3600)", timeout: "1s" }),
        `the statement wasn't over within 1 s, the step's \`timeout\`; it may still run on the server, which couldn't be told to cancel it: nothing listens at ${door.host} (connection refused)`,
      );
      await using watcher = stepsOn();
      await watcher.succeeds({
        query: "kill query ?",
        params: [await untilRunning(watcher, "select sleep(3600)")],
      });
    });

    it("ends no session of another server behind the same address", async () => {
      await using other = await startedMysql(programs, AbortSignal.timeout(110_000));
      const ports = [mysql().port, other.port];
      await using door = await Listening.of((inside) => handOn(inside, ports.shift() ?? 0));
      await using steps = stepsThrough(door);
      await steps.succeeds({ query: "select 1" });
      assert.equal(
        await steps.fails({ query: "select sleep(3600)", timeout: "1s" }),
        "the statement wasn't over within 1 s, the step's `timeout`; it may still run on the server, which couldn't be told to cancel it: another server answers there",
      );
      await using watcher = stepsOn();
      await watcher.succeeds({
        query: "kill query ?",
        params: [await untilRunning(watcher, "select sleep(3600)")],
      });
    });

    it("gives up on what doesn't answer, or is no database", async () => {
      await using silent = await Listening.of(() => {});
      await using web = await Listening.of((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
      await using closing = await Listening.of((socket) => socket.end());
      await using unheard = testSteps(`mysql://app@${silent.host}/shop`, folder.path);
      assert.equal(
        await unheard.fails({ query: "select 1", timeout: "200ms" }),
        "the database didn't answer within 200 ms, the step's `timeout`",
      );
      // Lets in whoever comes, and answers nothing more.
      await using polite = await Listening.of((inside) => {
        const outside = connect(mysql().port, "127.0.0.1").on("error", () => {});
        outside.pipe(inside).once("close", () => outside.destroy());
        inside.once("data", (login) => outside.write(login));
      });
      await using admitted = stepsThrough(polite, "?sslmode=disable");
      assert.equal(
        await admitted.fails({ query: "select 1", timeout: "1s" }),
        "the database didn't answer within 1 s, the step's `timeout`",
      );
      for (const { host } of [web, closing]) {
        await using strange = testSteps(`mysql://app@${host}/shop`, folder.path);
        assert.equal(
          await strange.fails({ query: "select 1" }),
          `${host} closed the connection; is it a MySQL server?`,
        );
      }
    });

    it("cancels a statement on the server when its run is stopped", async () => {
      await using watcher = stepsOn();
      const pipeline = pipelineOf({
        resources: { db: { type: "sql", url: "${{ env.DATABASE_URL }}", timeout: "1h" } },
        steps: [{ use: "db", query: "select sleep(7200)" }],
      });
      const { password, port } = mysql();
      const env = {
        PATH: process.env["PATH"],
        DATABASE_URL: `mysql://app:${encodeURIComponent(password)}@127.0.0.1:${port}/shop`,
      };
      const { job } = launchTestRun(folder.path, pipeline, { env });
      await untilRunning(watcher, "select sleep(7200)");
      job.stop();
      assert.deepEqual(await job.ended, { kind: "stopped" });
      assert.equal(isAlive(job.pid ?? 0), false);
      await untilSessionsAre(1, watcher);
    });

    it("counts rows without end, but keeps no more than it has room for", async () => {
      await using steps = stepsOn();
      const digits = "(select 0 union all select 1 union all select 2 union all select 3 union all select 4)";
      const tables = "abcdefg".split("").map((name) => `${digits} as ${name}`);
      await steps.succeeds({
        query: `select 1 as n from ${tables.join(", ")}`,
        expect: { "row-count": 5 ** 7 },
      });
      assert.match(steps.stepContextFor.logged(), /\n# rows\.json holds the first 10000 of 78125 rows\n$/);
    });

    function stepsOn(): TestSteps {
      return testSteps(mysql().url(), folder.path, {}, { PASSWORD: mysql().password });
    }

    function stepsThrough({ host }: Pick<Listening, "host">, query = ""): TestSteps {
      const url = `mysql://app:\${{ env.PASSWORD }}@${host}/shop${query}`;
      return testSteps(url, folder.path, {}, { PASSWORD: mysql().password });
    }
  });
}

/** Asks the server until it runs a statement. @returns the id of its session. */
async function untilRunning(steps: TestSteps, query: string): Promise<number> {
  const text =
    "select id from information_schema.processlist where info = ? and command in ('Query', 'Execute')";
  const step = { query: text, params: [query], expect: { "row-count": 1 } };
  while ((await steps.run(step)).kind === "failed");
  return idOf([steps.keptRows()].flat()[0]);
}

/** Asks the server until so many sessions of steps are open, the asking one's among them. */
async function untilSessionsAre(count: number, steps: TestSteps): Promise<void> {
  const query = "select id from information_schema.processlist where user = 'app'";
  while ((await steps.run({ query, expect: { "row-count": count } })).kind === "failed");
}

function idOf(row: unknown): number {
  assert.ok(typeof row === "object" && row !== null && "id" in row && typeof row.id === "number");
  return row.id;
}
