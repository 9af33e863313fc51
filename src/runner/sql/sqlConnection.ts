import { setTimeout as pause } from "node:timers/promises";
import { runWork, type Session, type SqlOutcome, type SqlWork } from "./sqlWork.ts";

/** A connection to a database, which the steps of a resource share until the run ends. */
export abstract class SqlConnection implements AsyncDisposable {
  #stopping: Promise<string | undefined> | undefined;

  /**
   * Runs statements in order, one call at a time. Never rejects: a problem is a sentence in the outcome.
   * @param note called with the server's notices.
   * @param lockPatienceMilliseconds how long to wait for another program's lock, where the client decides that.
   */
  abstract run(
    work: SqlWork,
    note: (line: string) => void,
    lockPatienceMilliseconds: number,
  ): Promise<SqlOutcome>;
  /** Whether the database's session is gone, so that no statement can run any more. */
  abstract get isLost(): boolean;
  /** Does what `stop` promises, once. */
  protected abstract end(): Promise<string | undefined>;

  /**
   * Cancels the running statement and closes the connection. Further calls wait for the first.
   * @returns why the statement may still run: the server couldn't be told to cancel it.
   */
  stop(): Promise<string | undefined> {
    this.#stopping ??= this.end();
    return this.#stopping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** How long a server may take to accept a cancel request. */
const cancelMilliseconds = 2000;
/**
 * How long to wait for a cancel request to take effect before it is sent again, in milliseconds: PostgreSQL drops a request that
 * comes between two messages of a statement.
 */
const pauses = [100, 400, 1500];
/** How long ending the session may take before the connection is closed. */
const closingMilliseconds = 2000;

/** A session on a server. One call at a time, except for those that end it. */
export interface ServerSession extends Session {
  /** Why the session is lost, as far as the server said; undefined while it isn't. */
  readonly loss: string | undefined;
  /** Has the server cancel what runs, over a connection of its own. @throws when it can't be told. */
  cancel(signal: AbortSignal): Promise<void>;
  end(): Promise<void>;
  destroy(): void;
  /** Why the server can't be told to cancel. */
  describeUnreachable(error: unknown): string;
}

export class ServerConnection extends SqlConnection {
  readonly #session: ServerSession;
  #running: Promise<unknown> | undefined;
  #isEnding = false;

  constructor(session: ServerSession) {
    super();
    this.#session = session;
  }

  get isLost(): boolean {
    return this.#session.loss !== undefined;
  }

  async run(work: SqlWork, note: (line: string) => void): Promise<SqlOutcome> {
    const { loss } = this.#session;
    if (loss !== undefined) {
      const again = "the statement wasn't sent, and what comes next has a new connection";
      return { kind: "failed", problem: `${loss}, while no statement ran; ${again}` };
    }
    const running = runWork(this.#session, work, note, () => this.#isEnding);
    this.#running = running;
    const outcome = await running;
    this.#running = undefined;
    return outcome;
  }

  protected async end(): Promise<string | undefined> {
    this.#isEnding = true;
    const problem = this.#running && (await this.#cancel(this.#running));
    const ended = this.#session.end().catch(() => {});
    await Promise.race([ended, pause(closingMilliseconds, undefined, { ref: false })]);
    this.#session.destroy();
    return problem;
  }

  /** @returns why the statement may still run. */
  async #cancel(running: Promise<unknown>): Promise<string | undefined> {
    const over = running.then(() => "over");
    for (const [attempt, milliseconds] of pauses.entries()) {
      const enough = AbortSignal.timeout(cancelMilliseconds);
      try {
        await this.#session.cancel(enough);
      } catch (error) {
        // A later request may fail because the statement is over.
        if (attempt === 0)
          return enough.aborted ? "it doesn't answer" : this.#session.describeUnreachable(error);
      }
      if ((await Promise.race([over, pause(milliseconds, "late", { ref: false })])) === "over")
        return undefined;
    }
    return "it took the request, but hasn't cancelled the statement yet";
  }
}
