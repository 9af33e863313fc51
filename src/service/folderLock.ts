import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

export interface FolderLock extends Disposable {}

/**
 * Holds the data folder for one service process. It is SQLite's lock on a file, which the system itself takes back
 * when the process dies, however it dies: a lock that can't be left behind.
 * @returns undefined when another process holds it.
 */
export function lockFolder(folder: string): FolderLock | undefined {
  const file = new DatabaseSync(join(folder, "service.lock"), { timeout: 0 });
  try {
    file.exec("begin exclusive");
  } catch (error) {
    file.close();
    if (error instanceof Error && /locked|busy/i.test(error.message)) return undefined;
    throw error;
  }
  return { [Symbol.dispose]: () => file.close() };
}
