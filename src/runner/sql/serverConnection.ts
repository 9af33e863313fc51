import { setTimeout as pause } from "node:timers/promises";
import {
  describeStatementProblem,
  type ReadRows,
  RowReader,
  type SqlConnection,
  type SqlOutcome,
  type SqlWork,
  type Statement,
} from "./sqlConnection.ts";

/** How long a server may take to accept a cancel request, and then to cancel the statement. */
const cancelMilliseconds = 2000;
/** How long ending the session may take before the connection is closed. */
const closingMilliseconds = 2000;

/** What differs between the servers of databases: a session, by the library for it. One call at a time, but for those that end it. */
export interface Session {
  readonly isLost: boolean;
  /** Begins a transaction. @throws what the server says of it. */
  begin(): Promise<void>;
  /** @throws what the server says of it. */
  commit(): Promise<void>;
  /** Undoes a transaction, if one is open. @param error the error for which it is undone. @returns whether nothing of it was committed. Never rejects. */
  undo(error: unknown): Promise<boolean>;
  /** @throws what the server says of it. */
  statement(statement: Statement, note: (line: string) => void): Promise<ReadRows>;
  /**
   * Runs a text of many statements. @returns what the last one returned.
   *
   * @param tellDone called with how many of them are done, at the latest before it throws.
   * @throws what the server says of one of them.
   */
  script(text: string, note: (line: string) => void, tellDone: (count: number) => void): Promise<ReadRows>;
  /** Whether the last statement has committed the transaction. */
  hasCommitted(): boolean;
  /** Has the server cancel what runs, over a connection of its own. @throws when it can't be told. */
  cancel(signal: AbortSignal): Promise<void>;
  /** Takes leave of the server. */
  end(): Promise<void>;
  /** Closes the connection. */
  destroy(): void;
  /** The server's error about a statement, for people. @param done of a script: how many of its statements were done before. */
  describe(error: unknown, text: string, done?: number): string;
  /** Why the server can't be told to cancel. */
  describeUnreachable(error: unknown): string;
}

/** A session on a server. */
export class ServerConnection implements SqlConnection {
  readonly #session: Session;
  #running: Promise<unknown> | undefined;
  #stopping: Promise<string | undefined> | undefined;

  constructor(session: Session) {
    this.#session = session;
  }

  get isLost(): boolean {
    return this.#session.isLost;
  }

  async run(work: SqlWork, note: (line: string) => void): Promise<SqlOutcome> {
    const running = work.kind === "script" ? this.#runScript(work, note) : this.#runStatements(work, note);
    this.#running = running;
    const outcome = await running;
    this.#running = undefined;
    return outcome;
  }

  stop(): Promise<string | undefined> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #runStatements(
    work: Extract<SqlWork, { kind: "statements" }>,
    note: (line: string) => void,
  ): Promise<SqlOutcome> {
    const session = this.#session;
    const { isTransaction, statements } = work;
    let text = "begin";
    let index = 0;
    let rows: ReadRows = new RowReader().end(0);
    let isOpen = false;
    let committed: number | undefined;
    try {
      if (isTransaction) await session.begin();
      isOpen = isTransaction;
      for (const statement of statements) {
        // The request to cancel may have come between two of them.
        if (this.#stopping !== undefined) throw new Error("it was cancelled");
        text = statement.text;
        rows = await session.statement(statement, note);
        if (isTransaction && session.hasCommitted()) {
          committed = index;
          await session.begin();
        }
        index += 1;
      }
      text = "commit";
      if (isTransaction) await session.commit();
      return { kind: "done", rows };
    } catch (error) {
      const problem = session.describe(error, text);
      if (isOpen && !(await session.undo(error))) committed = index;
      return {
        kind: "failed",
        problem:
          isOpen || !isTransaction ? describeStatementProblem(work, index, problem, committed) : problem,
      };
    }
  }

  async #runScript(
    { name, text }: Extract<SqlWork, { kind: "script" }>,
    note: (line: string) => void,
  ): Promise<SqlOutcome> {
    const session = this.#session;
    let done = 0;
    try {
      const tellDone = (count: number) => {
        done = count;
      };
      return { kind: "done", rows: await session.script(text, note, tellDone) };
    } catch (error) {
      const problem = `${name}: ${session.describe(error, text, done)}`;
      // What the file has begun.
      await session.undo(error);
      return { kind: "failed", problem };
    }
  }

  async #stop(): Promise<string | undefined> {
    const problem = this.#running && (await this.#cancel(this.#running));
    const ended = this.#session.end().catch(() => {});
    await Promise.race([ended, pause(closingMilliseconds, undefined, { ref: false })]);
    this.#session.destroy();
    return problem;
  }

  /** @returns why the statement may still run. */
  async #cancel(running: Promise<unknown>): Promise<string | undefined> {
    const enough = AbortSignal.timeout(cancelMilliseconds);
    try {
      await this.#session.cancel(enough);
    } catch (error) {
      return enough.aborted ? "it doesn't answer" : this.#session.describeUnreachable(error);
    }
    const late = "it took the request, but hasn't cancelled the statement yet";
    return Promise.race([running.then(() => undefined), pause(cancelMilliseconds, late, { ref: false })]);
  }
}
