import { addAbortListener } from "node:events";
import { anySignal } from "../../machine/anySignal.ts";
import { parseJson, showValue } from "../../pipeline/expression/value.ts";
import {
  type DatabaseAddress,
  readDatabaseUrl,
  type ServerAddress,
} from "../../pipeline/types/databaseUrl.ts";
import type { SqlStep } from "../../pipeline/types/sql.ts";
import { isBlank } from "../../pipeline/types/statementText.ts";
import { readProjectFile } from "../../project/projectFile.ts";
import { counted } from "../../text/counted.ts";
import { duration } from "../../text/time.ts";
import type { Mask } from "../mask/mask.ts";
import { describeMismatches } from "../step/jsonMismatches.ts";
import {
  failed,
  type StepContext,
  StepFault,
  type StepOutcome,
  type StepResult,
  succeeded,
  tooLarge,
} from "../step/stepContext.ts";
import { mostText, type ReadRows } from "./rows.ts";
import { ServerConnection, type ServerSession, SqlConnection } from "./sqlConnection.ts";
import { SqliteConnection } from "./sqliteConnection.ts";
import type { SqlWork } from "./sqlWork.ts";

/** Runs the step's statements, and checks what the last one returned. @throws StepFault when they can't be run. */
export async function runSqlStep(step: SqlStep, stepContext: StepContext): Promise<StepOutcome> {
  const database = databaseOf(step.database);
  const work = readWork(step.work, stepContext);
  checkLists(step.work, database);
  const timeout = AbortSignal.timeout(step.timeoutMilliseconds);
  const signal = anySignal([timeout, stepContext.signal]);
  // Later steps share its state, such as temporary tables.
  const connection = await stepContext.shared
    .get(SqlConnection, step.use, () => connect(database, stepContext, signal))
    .catch((error: unknown) => {
      throw signal.aborted
        ? new StepFault(describeEnd(step, stepContext, "the database didn't answer"))
        : error;
    });
  const began = performance.now();
  const lockPatience = Math.floor(step.timeoutMilliseconds / 2);
  const outcome = await unlessAborted(signal, () => connection.run(work, stepContext.log.note, lockPatience));
  if (outcome === undefined) return failed(await stopped(step, stepContext, connection));
  if (outcome.kind === "failed") {
    if (connection.isLost) await stepContext.shared.forget(connection);
    return failed(outcome.problem);
  }
  const { rows } = outcome;
  const { rowCount } = step.expect;
  stepContext.results.take(() => sqlResult(rows));
  const took = duration(performance.now() - began);
  stepContext.log.note(`${counted(rows.count, "row")} in ${took}`);
  saveRows(rows, stepContext);
  const lines = [
    ...(rowCount === undefined || rowCount === rows.count
      ? []
      : [`row-count: expected ${rowCount}, got ${rows.count}`]),
    ...checkValues(step.expect, rows, stepContext.mask),
    ...stepContext.results.problems(),
  ];
  return lines.length === 0 ? succeeded : failed(lines.join("\n"));
}

/** Texts, quoted names and comments: what stands in them is no part of a statement. */
const quotedSql = /'[^']*'|"[^"]*"|`[^`]*`|--.*|\/\*[\s\S]*?\*\//g;

/** @throws StepFault for a list that `in (?)` would compare as one text, so that nothing is found. PostgreSQL may mean an array. */
function checkLists(work: SqlStep["work"], { kind }: Database): void {
  for (const { params, text } of work.kind === "statements" && kind !== "postgres" ? work.statements : []) {
    const bare = text.replaceAll(quotedSql, (part) => " ".repeat(part.length));
    for (const { 0: written, 1: number, index } of bare.matchAll(/\bin\s*\(\s*(?:\?|\$(\d+))\s*\)/gi)) {
      const place = number === undefined ? bare.slice(0, index).split("?").length - 1 : Number(number) - 1;
      const list = params[place];
      if (!Array.isArray(list)) continue;
      const [of, value] =
        typeof list[0] === "string" ? ["name", "json_quote(name)"] : ["id", "cast(id as char)"];
      const instead =
        kind === "mysql"
          ? `for a column \`${of}\`, write \`json_contains(?, ${value})\``
          : "write `in (select value from json_each(?))`";
      throw new StepFault(`a list is one parameter, which \`${written}\` compares as a whole: ${instead}`);
    }
  }
}

/** Notes what is run, and reads a file of statements. @throws StepFault for one that can't be run. */
export function readWork(
  work: SqlStep["work"],
  { log, root }: Pick<StepContext, "root"> & { readonly log: Pick<StepContext["log"], "note"> },
): SqlWork {
  if (work.kind === "statements") {
    const { isTransaction, statements } = work;
    for (const [index, { text }] of statements.entries()) {
      log.note(isTransaction ? `${index + 1} of ${statements.length}: ${firstLine(text)}` : firstLine(text));
    }
    return work;
  }
  const { path } = work;
  log.note(path);
  const read = readProjectFile(root, path, largestScript);
  if (read.kind === "unreadable") throw new StepFault(`\`${path}\` can't be read: ${read.problem}`);
  if (!read.isWhole) throw new StepFault(`\`${path}\` is larger than 1 MiB, the most that is run`);
  if (isBlank(read.text)) throw new StepFault(`\`${path}\` holds no statement`);
  return { kind: "script", name: path, text: read.text };
}

function sqlResult({ rows, returned, count }: ReadRows): StepResult {
  const values = { "row-count": count };
  if (rows.length < returned) return { values, missing: { rows: tooLarge }, size: 0 };
  const size = rows.reduce((sum, row) => sum + row.length, 0);
  return { values: { ...values, rows: rows.map((row) => parseJson(row)?.value ?? null) }, size };
}

/** A database's address that can be connected to. */
export type Database = Exclude<DatabaseAddress, { kind: "environment" }>;

/** An address that comes from the environment as a whole can be parsed only now. @throws StepFault for one that is none. */
export function databaseOf(database: SqlStep["database"]): Database {
  if (database.kind !== "environment") return database;
  const read = readDatabaseUrl(database.url);
  if (read.kind === "invalid") throw new StepFault(read.problem);
  if (read.database.kind === "environment")
    throw new StepFault("the database's address is itself a reference to the environment");
  return read.database;
}

/** @returns undefined when the signal is aborted first; the work's result is then ignored. */
async function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined> {
  if (signal.aborted) return undefined;
  const { promise: aborted, resolve } = Promise.withResolvers<undefined>();
  using _ = addAbortListener(signal, () => resolve(undefined));
  return await Promise.race([work(), aborted]);
}

async function stopped(step: SqlStep, stepContext: StepContext, connection: SqlConnection): Promise<string> {
  const problem = await connection.stop();
  await stepContext.shared.forget(connection);
  const stop =
    problem === undefined
      ? "it was cancelled"
      : `it may still run on the server, which couldn't be told to cancel it: ${problem}`;
  const isLost = step.database.kind === "sqlite-memory" && !stepContext.signal.aborted;
  const lost = isLost ? ", and what was in the memory is gone with it" : "";
  return `${describeEnd(step, stepContext, "the statement wasn't over")}; ${stop}${lost}`;
}

function describeEnd(step: SqlStep, stepContext: StepContext, what: string): string {
  return stepContext.signal.aborted
    ? "the run was ended before the statement was over"
    : `${what} within ${duration(step.timeoutMilliseconds)}, the step's \`timeout\``;
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0] ?? text;
}

const shownRows = 3;

function checkValues({ rows: expected }: SqlStep["expect"], read: ReadRows, mask: Mask): readonly string[] {
  if (expected === undefined) return [];
  const rows = read.rows
    .slice(0, Math.max(expected.length, shownRows))
    .map((row): unknown => JSON.parse(row));
  if (expected.length !== read.returned) {
    const more = read.returned > shownRows ? `, and ${read.returned - shownRows} more` : "";
    const shown = rows.slice(0, shownRows).map((row) => `\n${showValue(row, mask)}`);
    return [
      `rows: expected ${expected.length}, got ${read.returned}${shown.length === 0 ? "" : `:${shown.join("")}${more}`}`,
    ];
  }
  if (rows.length < expected.length) {
    return [`rows: they hold more than ${mostText / 1024 / 1024} MiB, the most that is compared`];
  }
  return describeMismatches(expected, rows, mask);
}

/** The limit of the rows that are kept, in UTF-16 units, and of a file of statements, in bytes. */
const largestScript = 1024 * 1024;

/** Saves the rows with the run as `rows.json`, up to its limit; a note says when some are left out. */
function saveRows(read: ReadRows, { saveArtifact, log }: Pick<StepContext, "saveArtifact" | "log">): void {
  if (read.returned === 0) return;
  let size = 0;
  const end = read.rows.findIndex((row) => {
    size += row.length + 2;
    return size > largestScript;
  });
  const rows = end === -1 ? read.rows : read.rows.slice(0, end);
  saveArtifact({
    name: "rows.json",
    mediaType: "application/json",
    content: rows.length === 0 ? "[]\n" : `[\n${rows.join(",\n")}\n]\n`,
  });
  if (rows.length < read.returned) {
    log.note(`rows.json holds the first ${rows.length} of ${read.returned} rows`);
  }
}

async function connect(
  database: Database,
  stepContext: StepContext,
  signal: AbortSignal,
): Promise<SqlConnection> {
  return database.kind === "sqlite-file" || database.kind === "sqlite-memory"
    ? SqliteConnection.open(database, stepContext, signal)
    : new ServerConnection(await openSession(database, stepContext, signal));
}

/** @throws StepFault */
export async function openSession(
  database: ServerAddress,
  place: Pick<StepContext, "root">,
  signal: AbortSignal,
): Promise<ServerSession> {
  // Loaded on demand: few runs need a server's library.
  switch (database.kind) {
    case "postgres": {
      const { PostgresSession } = await import("./postgresSession.ts");
      return PostgresSession.open(database, place, signal);
    }
    case "mysql": {
      const { MysqlSession } = await import("./mysqlSession.ts");
      return MysqlSession.open(database, place, signal);
    }
  }
}
