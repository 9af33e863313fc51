import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import { PipelineError } from "../../contract/errors.ts";
import { type Clock, systemClock } from "../../machine/clock.ts";
import { busyMilliseconds } from "./openDatabase.ts";
import { isLocked } from "./storageFault.ts";
import type { Database, Write } from "./tables.ts";

export interface Writer {
  /**
   * Writes in a transaction; resolves after its commit.
   * @param act uses only its transaction; a write inside a write would wait for itself.
   * @throws whatever `act` throws, or PipelineError `internal` when the database can't be written.
   */
  write<T>(act: (tx: Write) => Promise<T>): Promise<T>;
  /** Refuses further writes. Resolves when all earlier ones are done. */
  close(): Promise<void>;
}

export interface WriterDeps {
  /** Called after each commit with the number of its writes, including those that failed alone. */
  readonly onCommit?: (writes: number) => void;
  readonly clock?: Pick<Clock, "after">;
}

interface QueuedWrite {
  /** @returns a function that settles the caller's promise, called after the commit. */
  readonly act: (tx: Write) => Promise<() => void>;
  readonly fail: (error: unknown) => void;
}

/** The most writes of one commit. */
const largestBatch = 1_000;

/**
 * The growing pause before a transaction is begun again while another process writes, and for how long, in milliseconds.
 * SQLite's own waiting would block this process.
 */
const retryPause = { first: 5, longest: 50, total: busyMilliseconds } as const;

/**
 * The writes on SQLite. Those of the same moment are one transaction with one sync, in order, so that many starts
 * wait for the disk once; each sees what the earlier ones wrote. Promises settle after the commit: what a reply says is
 * on the disk.
 *
 * A write that fails is rolled back alone. When the commit fails, or SQLite rolls back by itself (a full disk, an I/O
 * error), all writes of the batch fail with that error.
 */
export function sqliteWriter(
  db: Database,
  { onCommit = () => {}, clock = systemClock }: WriterDeps = {},
): Writer {
  let queue: QueuedWrite[] = [];
  let writing: Promise<void> | undefined;
  let isClosed = false;

  /** @returns functions that settle the callers' promises. */
  const commit = async (batch: readonly QueuedWrite[]): Promise<readonly (() => void)[]> => {
    for (
      let waited = 0, pause: number = retryPause.first;
      ;
      pause = Math.min(pause * 2, retryPause.longest)
    ) {
      let hasBegun = false;
      try {
        return await db.transaction().execute(async (tx) => {
          hasBegun = true;
          const settles: (() => void)[] = [];
          for (const write of batch) settles.push(await writeOne(tx, write));
          return settles;
        });
      } catch (error) {
        if (hasBegun || !isLocked(error) || waited >= retryPause.total) throw error;
        await new Promise<void>((resolve) => void clock.after(pause, resolve));
        waited += pause;
      }
    }
  };

  const writeAll = async (): Promise<void> => {
    do {
      // Further writes of this turn of the event loop join the batch.
      await setImmediate();
      const batch = queue.slice(0, largestBatch);
      queue = queue.slice(largestBatch);
      try {
        const settles = await commit(batch);
        onCommit(batch.length);
        for (const settle of settles) settle();
      } catch (error) {
        for (const { fail } of batch) fail(error);
      }
    } while (queue.length > 0);
    writing = undefined;
  };

  return {
    write: (act) =>
      new Promise((resolve, reject) => {
        if (isClosed) {
          const next = "Try again in a moment.";
          reject(
            new PipelineError("internal", "The service is stopping: nothing is written any more.", { next }),
          );
          return;
        }
        queue.push({
          act: async (tx) => {
            const value = await act(tx);
            return () => resolve(value);
          },
          fail: reject,
        });
        writing ??= writeAll();
      }),
    async close() {
      isClosed = true;
      await writing;
    },
  };
}

/** @throws only when the whole transaction was rolled back. */
async function writeOne(tx: Write, { act, fail }: QueuedWrite): Promise<() => void> {
  await sql`savepoint one_write`.execute(tx);
  try {
    const settle = await act(tx);
    await sql`release one_write`.execute(tx);
    return settle;
  } catch (error) {
    try {
      await sql`rollback to one_write`.execute(tx);
      await sql`release one_write`.execute(tx);
    } catch {
      // The savepoint is gone: SQLite has rolled the transaction back. The first error says why.
      throw error;
    }
    return () => fail(error);
  }
}
