import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import { type Clock, systemClock } from "../../contract/clock.ts";
import { PipelineError } from "../../contract/errors.ts";
import { busyMilliseconds } from "./openDatabase.ts";
import { isHeld } from "./storageFault.ts";
import type { Database, Write } from "./tables.ts";

export interface WriterDeps {
  /** Called after each commit with how many writes it held, those that failed by themselves included. */
  readonly onCommit?: (writes: number) => void;
  readonly clock?: Pick<Clock, "after">;
}

/** One write that waits for its turn. Neither way of telling its caller may throw. */
interface Asked {
  /** Writes, and gives back how the caller is to be told once the commit is on the disk. */
  readonly act: (tx: Write) => Promise<() => void>;
  readonly fail: (error: unknown) => void;
}

/** How many writes one commit holds at most, so that nobody waits for more than a moment's work of others. */
const largestBatch = 1_000;

/**
 * While another process writes, it is asked again and again: after so many milliseconds at first, longer each time to a
 * limit, and for so long in all. Who waits in SQLite keeps everybody else from being answered.
 */
const askAgain = { first: 5, longest: 50, inAll: busyMilliseconds } as const;

/**
 * All writes of the service go through here. What is asked in the same moment is written in the order asked, in one
 * transaction with one sync, so that many starts wait for the disk once; each sees what the ones before it wrote. A
 * caller hears only after the commit: what it was told is on the disk.
 *
 * A write that fails is undone alone. When the commit fails, or SQLite has taken back the transaction by itself (a full
 * disk, an I/O error), all writes of the batch fail with that error and nothing of them is there.
 */
export class Writer {
  readonly #db: Database;
  readonly #deps: WriterDeps;
  #asked: Asked[] = [];
  #writing: Promise<void> | undefined;
  #closed = false;

  constructor(db: Database, deps: WriterDeps = {}) {
    this.#db = db;
    this.#deps = deps;
  }

  /**
   * @param act works with what it is given and nothing else; a write inside a write would wait for itself.
   * @throws whatever `act` throws, or PipelineError `internal` when the database can't be written.
   */
  write<T>(act: (tx: Write) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) {
        reject(
          new PipelineError("internal", "The service is stopping: nothing is written any more.", {
            next: "Try again in a moment.",
          }),
        );
        return;
      }
      this.#asked.push({
        act: async (tx) => {
          const value = await act(tx);
          return () => resolve(value);
        },
        fail: reject,
      });
      this.#writing ??= this.#writeAll();
    });
  }

  /** Takes no more, and resolves when all that was asked is written. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    do {
      // Whatever else this turn of the event loop brings comes along.
      await setImmediate();
      const batch = this.#asked.slice(0, largestBatch);
      this.#asked = this.#asked.slice(largestBatch);
      try {
        const tellings = await this.#commit(batch);
        this.#deps.onCommit?.(batch.length);
        for (const tell of tellings) tell();
      } catch (error) {
        for (const { fail } of batch) fail(error);
      }
    } while (this.#asked.length > 0);
    this.#writing = undefined;
  }

  /** @returns how the callers are to be told. */
  async #commit(batch: readonly Asked[]): Promise<readonly (() => void)[]> {
    const { after } = this.#deps.clock ?? systemClock;
    for (let waited = 0, pause: number = askAgain.first; ; pause = Math.min(pause * 2, askAgain.longest)) {
      let hasBegun = false;
      try {
        return await this.#db.transaction().execute(async (tx) => {
          hasBegun = true;
          const tellings: (() => void)[] = [];
          for (const asked of batch) tellings.push(await writeOne(tx, asked));
          return tellings;
        });
      } catch (error) {
        if (hasBegun || !isHeld(error) || waited >= askAgain.inAll) throw error;
        await new Promise<void>((resolve) => void after(pause, resolve));
        waited += pause;
      }
    }
  }
}

/** @throws only when the transaction is gone, and every write of it with it. */
async function writeOne(tx: Write, { act, fail }: Asked): Promise<() => void> {
  await sql`savepoint one_write`.execute(tx);
  try {
    const tell = await act(tx);
    await sql`release one_write`.execute(tx);
    return tell;
  } catch (error) {
    try {
      await sql`rollback to one_write`.execute(tx);
      await sql`release one_write`.execute(tx);
    } catch {
      // There is no such savepoint any more: SQLite has rolled the whole transaction back. The first error says why.
      throw error;
    }
    return () => fail(error);
  }
}
