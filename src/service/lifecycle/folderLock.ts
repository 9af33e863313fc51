import { chmodSync, closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { PipelineError } from "../../contract/errors.ts";
import { isDiskFull, storageFault } from "../store/storageFault.ts";

export type FolderLock = Disposable;

export function lockFile(folder: string): string {
  return join(folder, "service.lock");
}

/**
 * Holds the data folder for one service process. It is SQLite's lock on a file, which the system itself takes back
 * when the process dies, however it dies: a lock that can't be left behind.
 * @returns undefined when another process holds it.
 * @throws PipelineError `internal` when the file can't be used.
 */
export function lockFolder(folder: string): FolderLock | undefined {
  const path = lockFile(folder);
  let file: DatabaseSync | undefined;
  try {
    keepToUser(path);
    file = new DatabaseSync(path, { timeout: 0 });
    file.exec("begin exclusive");
  } catch (cause) {
    file?.close();
    const why = cause instanceof Error ? cause.message : String(cause);
    if (/locked|busy/i.test(why)) return undefined;
    if (isDiskFull(cause)) throw storageFault(cause, path);
    throw new PipelineError("internal", `The file ${path} can't be used: ${why}.`, {
      cause,
      next: "Check that the folder can be written, or delete that file; it holds nothing.",
    });
  }
  return { [Symbol.dispose]: () => file.close() };
}

/**
 * SQLite would make it readable for everyone, and whoever can read it can hold a lock on it that keeps every service out. One
 * that is there is never opened here: closing it again would take back a lock that this process has on it.
 */
function keepToUser(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    chmodSync(path, 0o600);
  }
}
