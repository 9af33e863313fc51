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
        statements: [{ text: "select ?", params: [1, "a", null, true, { a: [1] }] }],
        isTransaction: false,
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
    assert.equal(read.isTransaction, true);
    assert.equal(read.timeoutMilliseconds, 500);
    assert.deepEqual(read.statements[1], { text: "insert into a values (?)", params: [2] });
  });

  it("says in which line what is wrong", () => {
    assert.deepEqual(problems(`${orders}steps: [{ use: db }]`), [
      "2:9: this step does nothing; an sql step has `query` or `statements`",
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
      "2:20: `get` belongs to a step of type http, but `db` is of type sql, whose steps have `query` or `statements`",
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
        "postgres:///shop?host=/run/postgresql&sslmode=disable&sslrootcert=${{ env.CA }}",
        postgres({
          host: "/run/postgresql",
          database: "shop",
          parameters: { sslmode: "disable", sslrootcert: "${{ env.CA }}" },
        }),
      ],
    ] as const) {
      assert.deepEqual(readDatabaseUrl(url), { kind: "valid", database }, url);
    }
  });

  it("is told what is wrong with it, with the line, and never with what may be a secret", () => {
    for (const [url, problem] of [
      ["orders.db", /^2:\d+: this is no address of a database: a `url` is `sqlite:orders.db`, /],
      ["mysql://h/d", /: a database is reached by sqlite: or postgres:\/\/, not by `mysql:`$/],
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
      ["postgres://h/d%", /a % in an address begins a character's code/],
      ["postgres://h/d?sslmod=require", /an address has no `sslmod`; did you mean `sslmode`\?$/],
      [
        "postgres://h/d?password=secret",
        /an address has no `password`; it can have application_name, channel_binding, /,
      ],
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
    for (const text of ["", " ;\n; ", "-- select 1", "/* a */ -- b\n/* c", "/***/;/**/"]) {
      assert.equal(isBlank(text), true, text);
    }
    for (const text of ["select 1", "/* a */ b", "-- a\nb", "- -", "/ *", "'--'"]) {
      assert.equal(isBlank(text), false, text);
    }
    assert.equal(isBlank("/**/".repeat(100_000)), true);
    assert.equal(isBlank(`/*${"*--".repeat(100_000)}`), true);
  });
});

function postgres(parts: object): object {
  return {
    kind: "postgres",
    host: "localhost",
    port: "5432",
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
