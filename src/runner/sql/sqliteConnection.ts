import { type ChildProcess, spawn } from "node:child_process";
import { addAbortListener, once } from "node:events";
import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describeError } from "../../contract/errors.ts";
import type { DatabaseAddress } from "../../pipeline/types/databaseUrl.ts";
import { codeOf, isMissing } from "../../project/systemErrors.ts";
import { sqliteArgument } from "../launch/protocol.ts";
import { type StepContext, StepFault } from "../step/stepContext.ts";
import { SqlConnection } from "./sqlConnection.ts";
import type { SqlOutcome, SqlWork } from "./sqlWork.ts";

/** How long an idle process may take to close its database, in milliseconds. */
const closingMilliseconds = 1000;

/** An SQLite database, open in a process of its own. */
export class SqliteConnection extends SqlConnection {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  #isBusy = false;

  /** @param child runs `serveSqlite`. */
  constructor(child: ChildProcess) {
    super();
    this.#child = child;
    // Rejects where it could not be started.
    this.#exited = once(child, "exit").catch(() => {});
    // Ignored: sending fails when the process has ended, which its exit reports.
    child.on("error", () => {});
  }

  /** @throws StepFault */
  static async open(
    database: SqliteDatabase,
    stepContext: StepContext,
    signal: AbortSignal,
  ): Promise<SqliteConnection> {
    const place = await locate(database, stepContext.root);
    signal.throwIfAborted();
    const connection = new SqliteConnection(startChild(stepContext));
    using _ = addAbortListener(signal, () => void connection.stop());
    const opened = await connection.#ask({ kind: "open", ...place });
    if (opened.kind === "done") return connection;
    await connection.stop();
    throw new StepFault(opened.problem);
  }

  get isLost(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  run(work: SqlWork, _: unknown, lockPatienceMilliseconds: number): Promise<SqlOutcome> {
    return this.#ask({ kind: "run", work, lockPatienceMilliseconds });
  }

  protected async end(): Promise<undefined> {
    const child = this.#child;
    if (!this.#isBusy && child.connected) {
      child.disconnect();
      await Promise.race([this.#exited, pause(closingMilliseconds, undefined, { ref: false })]);
    }
    // A busy process can't receive messages. SQLite rolls its transaction back when the file is next opened.
    child.kill("SIGKILL");
    await this.#exited;
  }

  async #ask(request: SqliteRequest): Promise<SqlOutcome> {
    const { promise, resolve } = Promise.withResolvers<SqlOutcome>();
    const receive = (message: unknown) => resolve(message as SqlOutcome);
    this.#isBusy = true;
    this.#child.once("message", receive);
    void this.#exited.then(() => resolve({ kind: "failed", problem: describeEnd(this.#child) }));
    this.#child.send(request, () => {});
    const outcome = await promise;
    this.#child.off("message", receive);
    this.#isBusy = false;
    return outcome;
  }
}

function startChild({ environment, program, root }: StepContext): ChildProcess {
  try {
    return spawn(program.execPath, [program.path, sqliteArgument], {
      cwd: root,
      env: { ...environment, ELECTRON_RUN_AS_NODE: "1" },
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      // JSON has no bigint.
      serialization: "advanced",
      windowsHide: true,
    });
  } catch (error) {
    throw new StepFault(`the process for SQLite can't be started: ${describeError(error)}`);
  }
}

function describeEnd({ exitCode, pid, signalCode }: ChildProcess): string {
  if (pid === undefined) return "the process for SQLite can't be started";
  return `the process for SQLite has ended (${signalCode ?? `with ${exitCode}`})`;
}

type SqliteDatabase = Extract<DatabaseAddress, { kind: "sqlite-file" | "sqlite-memory" }>;

export interface SqlitePlace {
  /** A file's absolute path, or `:memory:`. */
  readonly location: string;
  /** What the database is called in messages. */
  readonly name: string;
  readonly isReadOnly: boolean;
}

/**
 * Resolves a database's path. SQLite would create a missing file, so a mistyped path would be an empty database; a file
 * is created only with `mode=rwc`.
 *
 * @throws StepFault
 */
export async function locate(database: SqliteDatabase, root: string): Promise<SqlitePlace> {
  if (database.kind === "sqlite-memory") {
    return { location: ":memory:", name: "the database in memory", isReadOnly: false };
  }
  const { mode, path } = database;
  const location = resolve(root, path);
  const found = await kindOf(location);
  if (found === "folder") throw new StepFault(`${path} is a folder and no database`);
  if (found === "none" && mode !== "rwc")
    throw new StepFault(
      `there is no database ${path} (${location}); to have it made, write \`sqlite:${path}?mode=rwc\``,
    );
  if (found === "none" && (await kindOf(dirname(location))) !== "folder")
    throw new StepFault(`${path} can't be made: there is no folder ${dirname(location)}`);
  return { location, name: path, isReadOnly: mode === "ro" };
}

async function kindOf(path: string): Promise<"file" | "folder" | "none"> {
  try {
    return (await stat(path)).isDirectory() ? "folder" : "file";
  } catch (error) {
    if (isMissing(error)) return "none";
    throw new StepFault(`${path} can't be read (${codeOf(error)})`);
  }
}

/**
 * The protocol between the runner and the process of SQLite: each request is answered with its outcome. JavaScript can't interrupt
 * SQLite, so a statement is cancelled by killing its process, which a database file survives.
 */
export type SqliteRequest =
  | ({ readonly kind: "open" } & SqlitePlace)
  | { readonly kind: "run"; readonly work: SqlWork; readonly lockPatienceMilliseconds: number };
