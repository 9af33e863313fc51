// biome-ignore-all lint/suspicious/noTemplateCurlyInString: snippets, and references as pipeline files write them.
import * as z from "zod/mini";
import { field, needed, noneByDefault, typeText } from "../file/fieldTexts.ts";
import { checkNumbers, checkReadPath, readTimeout, type StepReading } from "../file/readValues.ts";
import { hasExpression } from "../file/textPieces.ts";
import { everyStep, nonEmpty, type PlannedStep, that, timeoutField } from "../file/values.ts";
import type { Path } from "../file/yamlSource.ts";
import { quoted } from "../mistakes/problem.ts";
import { type DatabaseAddress, readDatabaseUrl } from "./databaseUrl.ts";
import { type ReadResource, resourceType } from "./resourceType.ts";
import { isBlank, transactionWord } from "./statementText.ts";

/** The sql resource and its steps as a pipeline file writes them. */

const params = noneByDefault(
  z.array(z.unknown()),
  "The values for the statement's parameters (`?` in SQLite and MySQL, `$1` and so on in PostgreSQL), in their order.",
);

const sqlResourceSchema = z.strictObject({
  type: needed(z.literal("sql"), typeText),
  url: needed(nonEmpty, {
    meaning:
      "The database's address. A file is named against the project's folder. A password comes from the environment only.",
    bounds:
      "`sqlite:<path>`, `sqlite::memory:`, `postgres://user@host:5432/database`, `mysql://user@host:3306/database` (also MariaDB), or one of these out of the environment",
    values: [
      '"sqlite::memory:"',
      "sqlite:data.db",
      "sqlite:data.db?mode=rwc",
      "sqlite:data.db?mode=ro",
      '"postgres://app:${{ env.DB_PASSWORD }}@127.0.0.1:5432/shop"',
      '"mysql://app:${{ env.DB_PASSWORD }}@127.0.0.1:3306/shop"',
      "${{ env.DATABASE_URL }}",
    ],
  }),
  timeout: timeoutField("How long each step may take as a whole, connecting included.", "`10s`"),
});

const sqlStepFileSchema = z.strictObject({
  ...everyStep,
  query: field(nonEmpty, { meaning: "One statement. Values belong into `params` and not into the text." }),
  params,
  statements: field(
    z
      .array(
        z.union(
          [
            nonEmpty,
            z.strictObject({
              query: needed(nonEmpty, { meaning: "One statement of the transaction." }),
              params,
            }),
          ],
          "expected a statement, or a map with `query` and `params`",
        ),
      )
      .check(z.minLength(1)),
    {
      meaning:
        "Several statements that are one transaction: all of them or none. Each is a text, or a map with `query` and `params`. In MySQL, what changes tables commits by itself.",
    },
  ),
  file: field(nonEmpty, {
    meaning:
      "A file of statements, by a fixed path against the project's folder, run as the database runs several at once: PostgreSQL as one transaction, SQLite and MySQL one by one. Nothing is filled in within it.",
    bounds: "at most 1 MiB",
    values: ["fixtures.sql"],
  }),
  timeout: timeoutField("How long this step may take as a whole.", "the resource's, else `10s`"),
  expect: field(
    z.strictObject({
      rows: noneByDefault(
        z.array(z.record(z.string(), z.unknown())),
        "The rows of the last statement, in their order and no more of them; of a row only the columns that are written here are compared.",
      ),
      "row-count": field(z.int().check(z.nonnegative()), {
        meaning:
          "How many rows the last statement returns or, if it returns none, inserts, changes or deletes.",
        byDefault: "none",
        bounds: "a whole number, 0 or more",
        values: ["1", "0"],
      }),
      that,
    }),
    {
      meaning: "What the last statement has to return; otherwise the step fails.",
      byDefault: "nothing is compared",
    },
  ),
});

type SqlResourceFile = z.infer<typeof sqlResourceSchema>;
type SqlStepFile = z.infer<typeof sqlStepFileSchema>;

export const sqlType = resourceType({
  type: "sql",
  meaning: "Runs statements on SQLite, PostgreSQL or MySQL and looks at what they return.",
  actions: "`query`, `statements` or `file`",
  file: { resource: sqlResourceSchema, step: sqlStepFileSchema },
  snippets: {
    resource: { name: "orders", fields: ', url: "${2:sqlite::memory:}"' },
    step: { name: "one row", lines: ["query: ${2:select 1 as n}", "expect: { rows: [{ ${3:n: 1} }] }"] },
  },
  validResource: { type: "sql", url: "sqlite::memory:" },
  readResource(resource, problems) {
    const { file, path } = resource;
    const read = readDatabaseUrl(file.url);
    if (read.kind === "invalid") {
      problems.add([...path, "url"], read.problem);
      return undefined;
    }
    const { database } = read;
    if ("password" in database && database.password !== "" && !hasExpression(database.password)) {
      problems.add(
        [...path, "url"],
        `a password doesn't belong into the file; take it from the environment, such as \`${database.kind}://app:\${{ env.DB_PASSWORD }}@host/database\``,
      );
    }
    return (step, reading) => readSqlStep(step, { ...resource, database }, reading);
  },
});

interface SqlResource extends ReadResource<SqlResourceFile> {
  readonly database: DatabaseAddress;
}

type Work = SqlStep["work"];

/** Resolves a step against its resource. @returns undefined when it has nothing to run. */
function readSqlStep(file: SqlStepFile, resource: SqlResource, reading: StepReading): SqlStep | undefined {
  const { path, problems } = reading;
  const actions = (["query", "statements", "file"] as const).filter((name) => file[name] !== undefined);
  const [action, second] = actions;
  if (action === undefined) return undefined;
  if (second !== undefined) {
    problems.addToName([...path, second], `a step has \`${action}\` or \`${second}\`, not both`);
  }
  if (file.params !== undefined && action !== "query") {
    problems.addToName([...path, "params"], withoutQuery[action]);
  }
  const work = readWork(file, reading);
  checkNumbers(file.expect?.rows, [...path, "expect", "rows"], reading);
  return {
    type: "sql",
    name: file.name ?? nameOf(work),
    use: file.use,
    database: resource.database,
    work,
    timeoutMilliseconds: readTimeout({ file, path }, resource, problems),
    expect: { rows: file.expect?.rows, rowCount: file.expect?.["row-count"] },
  };
}

/** Why there are no `params` beside these. */
const withoutQuery = {
  statements:
    "`params` go with a `query`; in `statements` each statement has its own: `{ query: …, params: […] }`",
  file: "`params` go with a `query`; nothing is filled in within a file",
};

function readWork(file: SqlStepFile, reading: StepReading): Work {
  const { path, problems } = reading;
  if (file.query !== undefined) {
    const statement = readStatement(file.query, file.params, path, [...path, "query"], reading);
    return { kind: "statements", statements: [statement], isTransaction: false };
  }
  if (file.statements === undefined) {
    checkReadPath(file.file ?? "", [...path, "file"], problems);
    return { kind: "file", path: file.file ?? "" };
  }
  const statements = file.statements.map((entry, index) => {
    const at = [...path, "statements", index];
    const { query, params } = typeof entry === "string" ? { query: entry, params: undefined } : entry;
    const textAt = typeof entry === "string" ? at : [...at, "query"];
    const word = transactionWord(query);
    if (word !== undefined) {
      problems.add(textAt, `\`statements\` are one transaction already; leave \`${quoted(word)}\` out`);
    }
    return readStatement(query, params, at, textAt, reading);
  });
  return { kind: "statements", statements, isTransaction: true };
}

function readStatement(
  text: string,
  params: readonly unknown[] | undefined,
  path: Path,
  textAt: Path,
  reading: StepReading,
): Statement {
  if (isBlank(text)) reading.problems.add(textAt, "there is no statement in this text");
  checkNumbers(params, [...path, "params"], reading);
  return { text, params: params ?? [] };
}

function nameOf(work: Work): string {
  if (work.kind === "file") return quoted(work.path);
  const [first, ...others] = work.statements;
  const line = first?.text.trim().split("\n", 1)[0] ?? "";
  return quoted(line) + (others.length > 0 ? ` (and ${others.length} more)` : "");
}

/** A step that runs statements and checks what the last one returns, resolved against its resource and ready to run. */
export interface SqlStep extends PlannedStep {
  readonly type: "sql";
  readonly database: DatabaseAddress;
  readonly work:
    | {
        readonly kind: "statements";
        /** At least one. */
        readonly statements: readonly Statement[];
        readonly isTransaction: boolean;
      }
    /** A file of statements, against the project's folder. */
    | { readonly kind: "file"; readonly path: string };
  readonly timeoutMilliseconds: number;
  readonly expect: {
    /** Each compared by subset, see `describeMismatches`. */
    readonly rows?: readonly unknown[] | undefined;
    readonly rowCount?: number | undefined;
  };
}

interface Statement {
  readonly text: string;
  /** The values of `?` or `$1`, `$2`, …; any JSON values. */
  readonly params: readonly unknown[];
}
