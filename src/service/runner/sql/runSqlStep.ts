import { formatDuration } from "../../../pipeline/duration.ts";
import type { Database } from "../../../pipeline/sql/databaseUrl.ts";
import { readDatabaseUrl } from "../../../pipeline/sql/databaseUrl.ts";
import type { SqlStep } from "../../../pipeline/sql/sqlStep.ts";
import { failed, type StepOutcome, type StepSurroundings, succeeded } from "../stepOutcome.ts";
import { judgeRows } from "./judgeRows.ts";
import { keepRows } from "./keepRows.ts";
import { openConnection } from "./openConnection.ts";
import type { SqlConnection, Stopped } from "./sqlConnection.ts";

/** Runs the step's statements on its resource's database, and looks at what the last one returned. */
export async function runSqlStep(step: SqlStep, around: StepSurroundings): Promise<StepOutcome> {
  const found = databaseOf(step.database);
  if (found.kind === "invalid") return failed(found.problem);
  for (const [index, { text }] of step.statements.entries()) {
    around.log.note(
      step.isTransaction ? `${index + 1} of ${step.statements.length}: ${firstLine(text)}` : firstLine(text),
    );
  }
  const timeout = AbortSignal.timeout(step.timeoutMilliseconds);
  const signal = AbortSignal.any([timeout, around.signal]);
  const opened = await openConnection(step.use, found.database, around, signal);
  if (opened.kind === "failed") {
    return failed(signal.aborted ? describeEnd(step, around, "the database didn't answer") : opened.problem);
  }
  const { connection } = opened;
  const began = performance.now();
  const outcome = await unlessAborted(signal, () =>
    connection.run(
      {
        statements: step.statements,
        isTransaction: step.isTransaction,
        lockPatienceMilliseconds: Math.floor(step.timeoutMilliseconds / 2),
      },
      around.log.note,
    ),
  );
  if (outcome === undefined) return failed(await stopped(step, around, connection));
  if (outcome.kind === "failed") return failed(outcome.problem);
  const { rows } = outcome;
  const took = formatDuration(performance.now() - began);
  around.log.note(`${rows.count} ${rows.count === 1 ? "row" : "rows"} in ${took}`);
  await keepRows(rows, around);
  const lines = judgeRows(step.expect, rows, around.mask);
  return lines.length === 0 ? succeeded : failed(lines.join("\n"));
}

type FoundDatabase =
  | { readonly kind: "valid"; readonly database: Exclude<Database, { kind: "environment" }> }
  | { readonly kind: "invalid"; readonly problem: string };

/** An address that comes whole out of the environment can be read only now. */
function databaseOf(database: SqlStep["database"]): FoundDatabase {
  if (database.kind !== "environment") return { kind: "valid", database };
  const read = readDatabaseUrl(database.url);
  if (read.kind === "invalid") return read;
  return read.database.kind === "environment"
    ? { kind: "invalid", problem: "the database's address is itself a reference to the environment" }
    : { kind: "valid", database: read.database };
}

/** @returns undefined once the signal is aborted; what the work says after that is lost. */
function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  const { promise, resolve, reject } = Promise.withResolvers<T | undefined>();
  const abort = () => resolve(undefined);
  signal.addEventListener("abort", abort, { once: true });
  work().then(resolve, reject);
  return promise.finally(() => signal.removeEventListener("abort", abort));
}

async function stopped(step: SqlStep, around: StepSurroundings, connection: SqlConnection): Promise<string> {
  return `${describeEnd(step, around, "the statement wasn't over")}${describeStop(await connection.stop())}`;
}

function describeEnd(step: SqlStep, around: StepSurroundings, what: string): string {
  return around.signal.aborted
    ? "the run was ended before the statement was over"
    : `${what} within ${formatDuration(step.timeoutMilliseconds)}, the step's \`timeout\``;
}

function describeStop(end: Stopped): string {
  switch (end.kind) {
    case "stopped":
      return "; it was cancelled";
    case "unknown":
      return `; it may still run on the server, which couldn't be told to cancel it: ${end.problem}`;
    default:
      return end satisfies never;
  }
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0] ?? text;
}
