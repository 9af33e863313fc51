import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

const sqliteBusy = 5;

/** A lock that the operating system takes back when its holder dies, so that no crash leaves one behind. */
export class FileLock implements Disposable {
  readonly #database: DatabaseSync;

  private constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** @returns undefined while another process holds the lock. */
  static async tryTake(file: string): Promise<FileLock | undefined> {
    await mkdir(dirname(file), { recursive: true });
    const database = new DatabaseSync(file, { timeout: 0 });
    try {
      database.exec("begin exclusive");
      return new FileLock(database);
    } catch (error) {
      database.close();
      if (error instanceof Error && "errcode" in error && error.errcode === sqliteBusy) return undefined;
      throw error;
    }
  }

  /** Asks again until the lock is free. `onBusy` is called once, when another process holds it. */
  static async take(file: string, onBusy: () => void, signal: AbortSignal): Promise<FileLock> {
    let said = false;
    while (true) {
      const lock = await FileLock.tryTake(file);
      if (lock !== undefined) return lock;
      if (!said) onBusy();
      said = true;
      await sleep(200, undefined, { signal });
    }
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}
