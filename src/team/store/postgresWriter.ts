import { setTimeout as pause } from "node:timers/promises";
import type { Database, Write } from "../../service/store/tables.ts";
import type { Writer } from "../../service/store/writer.ts";

/** How often a transaction is attempted that PostgreSQL ends because of another one. */
const mostAttempts = 5;

/** The writes on PostgreSQL: each is a transaction of its own, and many run at once. */
export class PostgresWriter implements Writer {
  readonly #db: Database;
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(db: Database) {
    this.#db = db;
  }

  async write<T>(act: (tx: Write) => Promise<T>): Promise<T> {
    const writing = this.#write(act);
    this.#underWay.add(writing);
    try {
      return await writing;
    } finally {
      this.#underWay.delete(writing);
    }
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  async #write<T>(act: (tx: Write) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#db.transaction().execute(act);
      } catch (error) {
        if (!isRetried(error) || attempt === mostAttempts) throw error;
        await pause(Math.random() * 20 * attempt);
      }
    }
  }
}

/** A deadlock, or a serialization failure: nothing was written, and the next attempt may succeed. */
function isRetried(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "40P01" || error.code === "40001");
}
