// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import assert from "node:assert/strict";
import fc from "fast-check";
import { parsePipeline } from "../../src/pipeline/parsePipeline.ts";
import { readDatabaseUrl } from "../../src/pipeline/types/databaseUrl.ts";
import type { SqlStep } from "../../src/pipeline/types/sql.ts";
import { isBlank, transactionWord } from "../../src/pipeline/types/statementText.ts";

const orders = "resources: { db: { type: sql, url: sqlite:orders.db, timeout: 2s } }\n";

describe("an sql step of a pipeline file", () => {
  it("is settled against its resource", () => {
    assert.deepEqual(
      step(
        `${orders}steps: [{ use: db, query: "select ?", params: [1, a, null, true, { a: [1] }], expect: { rows: [{ n: 3 }], row-count: 1 } }]`,
      ),
      {
        type: "sql",
        name: "select ?",
        use: "db",
        database: { kind: "sqlite-file", path: "orders.db", mode: "rw" },
        work: {
          kind: "statements",
          statements: [{ text: "select ?", params: [1, "a", null, true, { a: [1] }] }],
          isTransaction: false,
        },
        timeoutMilliseconds: 2000,
        expect: { rows: [{ n: 3 }], rowCount: 1 },
      },
    );
  });

  it("may hold a list of statements, which are one transaction", () => {
    const read = step(
      `${orders}steps:
  - use: db
    timeout: 500ms
    statements:
      - |
        delete from a
        where b = 1
      - { query: "insert into a values (?)", params: [2] }
      - savepoint s
      - rollback to s`,
    );
    assert.equal(read.name, "delete from a (and 3 more)");
    assert.ok(read.work.kind === "statements" && read.work.isTransaction);
    assert.equal(read.timeoutMilliseconds, 500);
    assert.deepEqual(read.work.statements[1], { text: "insert into a values (?)", params: [2] });
  });

  it("may name a file of statements, by a fixed path within the project", () => {
    const { name, work } = step(`${orders}steps: [{ use: db, file: db/fixtures.sql }]`);
    assert.equal(name, "db/fixtures.sql");
    assert.deepEqual(work, { kind: "file", path: "db/fixtures.sql" });
    for (const path of ["../a.sql", "db/../../a.sql", "/etc/a.sql", "C:a.sql", "..\\a.sql"]) {
      assert.deepEqual(problems(`${orders}steps: [{ use: db, file: '${path}' }]`), [
        "2:26: this leads out of the project's folder; name a file by its path from there",
      ]);
    }
    assert.deepEqual(problems(`${orders}steps: [{ use: db, file: "\${{ env.A }}.sql" }]`), [
      "2:26: nothing can be filled in here",
    ]);
    assert.deepEqual(problems(`${orders}steps: [{ use: db, file: a.sql, query: select 1 }]`), [
      "2:20: a step has `query` or `file`, not both",
    ]);
    assert.deepEqual(problems(`${orders}steps: [{ use: db, file: a.sql, params: [1] }]`), [
      "2:33: `params` go with a `query`; nothing is filled in within a file",
    ]);
  });

  it("says in which line what is wrong", () => {
    assert.deepEqual(problems(`${orders}steps: [{ use: db }]`), [
      "2:9: this step does nothing; an sql step has `query`, `statements` or `file`",
    ]);
    assert.deepEqual(problems(`${orders}steps: [{ use: db, qery: select 1 }]`), [
      "2:20: an sql step has no `qery`; did you mean `query`?",
    ]);
    assert.deepEqual(problems(`${orders}steps: [{ use: db, query: select 1, statements: [select 2] }]`), [
      "2:37: a step has `query` or `statements`, not both",
    ]);
    assert.deepEqual(problems(`${orders}steps: [{ use: db, statements: [select 2], params: [1] }]`), [
      "2:44: `params` go with a `query`; in `statements` each statement has its own: `{ query: …, params: […] }`",
    ]);
    assert.deepEqual(problems(`${orders}steps: [{ use: db, statements: [] }]`), ["2:32: this list is empty"]);
    assert.deepEqual(problems(`${orders}steps: [{ use: db, query: "-- later;", expect: { row-cont: 1 } }]`), [
      "2:50: `expect` has no `row-cont`; did you mean `row-count`?",
    ]);
    assert.deepEqual(problems(`${orders}steps: [{ use: db, query: "-- later;" }]`), [
      "2:27: there is no statement in this text",
    ]);
    assert.deepEqual(problems(`${orders}steps: [{ use: db, query: select 1, expect: { rows: [1] } }]`), [
      "2:54: expected a map of names and values",
    ]);
    assert.deepEqual(problems(`${orders}steps: [{ use: db, get: / }]`), [
      "2:20: `get` belongs to a step of type http, but `db` is of type sql, whose steps have `query`, `statements` or `file`",
    ]);
    assert.deepEqual(problems(`${orders}steps: [{ use: db, query: select 1, timeout: 2h }]`), [
      "2:46: a timeout is at least 1ms and at most 1h",
    ]);
  });

  it("can't end its transaction too early", () => {
    assert.deepEqual(
      problems(`${orders}steps: [{ use: db, statements: [BEGIN, { query: "/* now */ commit;" }] }]`),
      [
        "2:33: `statements` are one transaction already; leave `BEGIN` out",
        "2:49: `statements` are one transaction already; leave `commit` out",
      ],
    );
    for (const text of ["Start Transaction", "end", "abort work", "rollback", "prepare transaction 'a'"]) {
      assert.notEqual(transactionWord(text), undefined, text);
    }
    for (const text of ["rollback to a", "ROLLBACK WORK TO a", "prepare a as select 1", "select 1", ""]) {
      assert.equal(transactionWord(text), undefined, text);
    }
  });

  it("holds no number that is another one than was written", () => {
    assert.deepEqual(
      problems(
        `${orders}steps: [{ use: db, query: select ?, params: [[9007199254740993]], expect: { rows: [{ a: -9007199254740993 }, { a: 9007199254740991, b: 1e300 }] } }]`,
      ),
      [
        '2:47: this is read as the number 9007199254740992; as a text it keeps what is written: "9007199254740993"',
        '2:89: this is read as the number -9007199254740992; as a text it keeps what is written: "-9007199254740993"',
      ],
    );
  });
});

describe("the address of a database", () => {
  it("is a file, the memory, or a server", () => {
    for (const [url, database] of [
      ["sqlite:orders.db", { kind: "sqlite-file", path: "orders.db", mode: "rw" }],
      ["sqlite:data/a b%20.db?mode=rwc", { kind: "sqlite-file", path: "data/a b%20.db", mode: "rwc" }],
      [
        "sqlite:${{ env.FOLDER }}/a.db?mode=ro",
        { kind: "sqlite-file", path: "${{ env.FOLDER }}/a.db", mode: "ro" },
      ],
      ["sqlite::memory:", { kind: "sqlite-memory" }],
      ["${{ env.DATABASE_URL }}", { kind: "environment", url: "${{ env.DATABASE_URL }}" }],
      ["postgres://", postgres({})],
      ["postgresql://db.example/shop", postgres({ host: "db.example", database: "shop" })],
      [
        "postgres://app@[::1]:6543/shop",
        postgres({ host: "::1", port: "6543", user: "app", database: "shop" }),
      ],
      [
        "postgres://a%40b:${{ env.A }}${{ env.B }}@${{ env.HOST }}:${{ env.PORT }}/%C3%A4",
        postgres({
          host: "${{ env.HOST }}",
          port: "${{ env.PORT }}",
          user: "a@b",
          password: "${{ env.A }}${{ env.B }}",
          database: "ä",
        }),
      ],
      [
        "postgresql://h/d?sslmode=require&channel_binding=require&supa=base-pooler.x&options=endpoint%3Da",
        postgres({
          host: "h",
          database: "d",
          parameters: { sslmode: "require", channel_binding: "require", options: "endpoint=a" },
        }),
      ],
      [
        "postgres://h/d?sslmode=no-verify",
        postgres({ host: "h", database: "d", parameters: { sslmode: "require" } }),
      ],
      [
        "postgres://h/d?ssl=true",
        postgres({ host: "h", database: "d", parameters: { sslmode: "verify-full" } }),
      ],
      ["mysql://", mysql({})],
      [
        "mariadb://app:${{ env.A }}@[::1]:3307/shop?charset=utf8mb4&connectTimeout=10&parseTime=true",
        mysql({ host: "::1", port: "3307", user: "app", password: "${{ env.A }}", database: "shop" }),
      ],
      ["mysql2://h/d?reconnect=true", mysql({ host: "h", database: "d" })],
      [
        "mysql+pymysql://app@/d?unix_socket=/run/mysqld/mysqld.sock",
        mysql({ host: "/run/mysqld/mysqld.sock", user: "app", database: "d" }),
      ],
      [
        "mysql://h/d?ssl-mode=VERIFY_IDENTITY&ssl-ca=ca.pem&ssl-cert=a.pem&ssl_key=b.pem",
        mysql({
          host: "h",
          database: "d",
          parameters: { sslmode: "verify-full", sslrootcert: "ca.pem", sslcert: "a.pem", sslkey: "b.pem" },
        }),
      ],
      ...[
        ["ssl-mode=REQUIRED", "require"],
        ["sslMode=PREFERRED", "prefer"],
        ["sslaccept=strict", "verify-full"],
        ["sslaccept=strict&sslmode=require", "verify-full"],
        ["sslmode=require&sslaccept=strict", "verify-full"],
        ["tls=skip-verify", "require"],
        ["useSSL=false", "disable"],
        ["sslmode=${{ env.MODE }}", "${{ env.MODE }}"],
        ['ssl={"rejectUnauthorized":true}', "verify-full"],
        ["ssl=%7B%22rejectUnauthorized%22%3A%20false%7D", "require"],
      ].map(
        ([query, sslmode]) =>
          [`mysql://h/d?${query}`, mysql({ host: "h", database: "d", parameters: { sslmode } })] as const,
      ),
      [
        "postgres:///shop?host=/run/postgresql&sslmode=disable&sslrootcert=${{ env.CA }}",
        postgres({
          host: "/run/postgresql",
          database: "shop",
          parameters: { sslmode: "disable", sslrootcert: "${{ env.CA }}" },
        }),
      ],
      ...[
        "postgres://h/d?user=ada&password=${{ env.P }}&port=5433",
        "postgresql:///?host=h&port=5433&dbname=d&user=ada&password=${{ env.P }}",
        "jdbc:postgresql://h:5433/d?user=ada&password=${{ env.P }}\n",
      ].map(
        (url) =>
          [
            url,
            postgres({ host: "h", port: "5433", database: "d", user: "ada", password: "${{ env.P }}" }),
          ] as const,
      ),
      ...["schema", "search_path", "currentSchema"].map(
        (name) =>
          [
            `postgres://h/d?${name}=shop&statement_timeout=5`,
            postgres({ host: "h", database: "d", parameters: { schema: "shop" } }),
          ] as const,
      ),
    ] as const) {
      assert.deepEqual(readDatabaseUrl(url), { kind: "valid", database }, url);
    }
  });

  it("is told what is wrong with it, with the line, and never with what may be a secret", () => {
    for (const [url, problem] of [
      ["orders.db", /^2:\d+: this is no address of a database: a `url` is `sqlite:orders.db`, /],
      ["mssql://h/d", /: a database is reached by sqlite:, postgres:\/\/ or mysql:\/\/, not by `mssql:`/],
      ["mysq://h/d", /not by `mysq:`; did you mean `mysql:`\?$/],
      ["mysql:h/d", /not by `mysql:`; did you mean/],
      [
        "mysql://app:secret@h/d",
        /take it from the environment, such as `mysql:\/\/app:\$\{\{ env\.DB_PASSWORD/,
      ],
      [
        "mysql://app@h/d?schema=a",
        /an address has no `schema`; it can have database, host, password, port, socket, ssl-ca, ssl-cert, ssl-key, ssl-mode, user$/,
      ],
      ["mysql://app@h/d?sslmode=constructor", /`sslmode` is one of .*, not `constructor`/],
      ["mysql://app@h/d?constructor=a", /an address has no `constructor`/],
      [
        "mysql://app@h/d?ssl-mode=VERIFY",
        /`ssl-mode` is one of DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY, not `VERIFY`/,
      ],
      ["sqlit:a.db", /not by `sqlit:`; did you mean `sqlite:`\?$/],
      ["sqlite:///a.db", /write the path right behind `sqlite:`, with no `\/\/`/],
      ["sqlite:", /behind `sqlite:` stands the path of a file, or `:memory:`$/],
      ["sqlite::memry:", /behind `sqlite:` stands the path of a file, or `:memory:`$/],
      ["sqlite:a.db?mode=w", /`mode=rwc` \(also make the file\)$/],
      ["postgres://app:secret@h/d", /a password doesn't belong into the file; take it from the environment/],
      ["postgres://app:sec/ret@h/d", /this address can't be read; in its user and password the characters @/],
      ["postgres://app:sec#ret@h/d", /this address can't be read/],
      ["postgres://app@h/d#x", /this address can't be read/],
      ["postgres://h1,h2/d", /an address names one host/],
      ["postgres:///d?host=h1,h2", /an address names one host/],
      ["postgres://h/d%", /a % in an address begins a character's code/],
      ["postgres://h/d?sslmod=require", /an address has no `sslmod`; did you mean `sslmode`\?$/],
      ["postgres://h/d?_=1", /an address has no `_`/],
      ["postgres://h/d?password=secret", /a password doesn't belong into the file; take it from/],
      ["postgres://h1:1,h2:2/d", /an address names one host/],
      [
        "postgres://h/d?sslmode=prefr",
        /`sslmode` is one of disable, allow, prefer, .*, not `prefr`; did you mean `prefer`\?/,
      ],
    ] as const) {
      const [told, ...others] = problems(
        `resources:\n  db: { type: sql, url: "${url}" }\nsteps: [{ use: db, query: select 1 }]`,
      );
      assert.match(told ?? "", problem, url);
      assert.deepEqual(others, [], url);
      assert.doesNotMatch(told ?? "", /sec/);
    }
  });

  it("never makes its reader throw or hang, and keeps every reference whole", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "sqlite:",
        "postgres://",
        "mysql://",
        "@",
        ":",
        "/",
        "?",
        "&",
        "sslmode=",
        "[",
        "]",
        "%",
        "%40",
        "#",
      ),
      fc.constantFrom("${{ env.A }}", "${{ env.B }}", "${{", "}}", "\uE000", "\uE0000\uE001"),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const url = pieces.join("");
        const read = readDatabaseUrl(url);
        if (read.kind === "invalid") assert.match(read.problem, /\w/);
      }),
    );
  });
});

describe("a text in which nothing is to be run", () => {
  it("holds white space, semicolons and comments only", () => {
    for (const text of ["# later", "", " ;\n; ", "-- select 1", "/* a */ -- b\n/* c", "/***/;/**/"]) {
      assert.equal(isBlank(text), true, text);
    }
    for (const text of [
      "/*!40101 set names utf8 */",
      "/*M! select 1 */",
      "select 1",
      "/* a */ b",
      "-- a\nb",
      "- -",
      "/ *",
      "'--'",
    ]) {
      assert.equal(isBlank(text), false, text);
    }
    assert.equal(isBlank("/**/".repeat(100_000)), true);
    assert.equal(isBlank(`/*${"*--".repeat(100_000)}`), true);
  });
});

function postgres(parts: object): object {
  return server({ kind: "postgres", port: "5432", ...parts });
}

function mysql(parts: object): object {
  return server({ kind: "mysql", port: "3306", ...parts });
}

function server(parts: object): object {
  return {
    host: "localhost",
    user: "",
    password: "",
    database: "",
    parameters: {},
    ...parts,
  };
}

function step(text: string): SqlStep {
  const parsed = parsePipeline(text, "test.yaml");
  if (parsed.kind === "invalid") assert.fail(JSON.stringify(parsed.problems));
  const [first] = parsed.pipeline.steps;
  assert.ok(first?.type === "sql");
  return first;
}

function problems(text: string): readonly string[] {
  const parsed = parsePipeline(text, "test.yaml");
  assert.ok(parsed.kind === "invalid", "the file is valid");
  return parsed.problems.map(({ line, column, message }) => `${line}:${column}: ${message}`);
}
