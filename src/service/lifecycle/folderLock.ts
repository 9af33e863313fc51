import { type BigIntStats, chmodSync, closeSync, openSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../contract/clock.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { Log } from "../log.ts";
import { isDiskFull, storageFault } from "../store/storageFault.ts";

export type FolderLock = Disposable;

function lockFile(folder: string): string {
  return join(folder, "service.lock");
}

/**
 * Locks the data folder for one service process, by SQLite's lock on a file: the operating system releases it when the
 * process dies, however it dies.
 * @returns undefined when another process holds it.
 * @throws PipelineError `internal` when the file can't be used.
 */
export function lockFolder(folder: string): FolderLock | undefined {
  const path = lockFile(folder);
  let file: DatabaseSync | undefined;
  try {
    restrictToUser(path);
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
 * SQLite would make the file readable for everyone, and whoever can read it can lock it. An existing file is not opened:
 * closing it would release a lock that this process holds.
 */
function restrictToUser(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    chmodSync(path, 0o600);
  }
}

interface FolderWatch {
  readonly folder: string;
  readonly clock: Pick<Clock, "after">;
  /** Called at each check while the folder is this service's. */
  readonly onChecked: () => Promise<void>;
  readonly onLost: () => void;
  readonly log: Log;
}

const checkMilliseconds = 10_000;

/**
 * Calls `onLost` once the data folder, or the lock in it, was moved or deleted: what is written goes nowhere, and another
 * service may have started in its place. @returns a function that stops watching.
 */
export async function watchFolder({
  folder,
  clock,
  onChecked,
  onLost,
  log,
}: FolderWatch): Promise<() => void> {
  const path = lockFile(folder);
  const held = await stat(path, { bigint: true });
  let isStopped = false;
  let cancelTimer = () => {};
  const check = async (): Promise<void> => {
    const now = await stat(path, { bigint: true }).catch((error: unknown) =>
      isMissing(error) ? "gone" : held,
    );
    if (isStopped) return;
    if (now === "gone" || !isSame(now, held)) {
      onLost();
      return;
    }
    // Goes on: the disk may be full for a while.
    await onChecked().catch((error: unknown) =>
      log("error", "the connection file could not be restored", { error }),
    );
    checkLater();
  };
  const checkLater = () => {
    if (!isStopped) cancelTimer = clock.after(checkMilliseconds, () => void check());
  };
  checkLater();
  return () => {
    isStopped = true;
    cancelTimer();
  };
}

function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return one.ino === other.ino && one.dev === other.dev;
}

/** Any other error, as of an unreachable folder, doesn't say that it is gone. */
function isMissing(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ENOENT" || code === "ENOTDIR";
}
