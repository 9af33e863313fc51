import {
  type BigIntStats,
  chmodSync,
  closeSync,
  type FSWatcher,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  watch,
} from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { PipelineError } from "../../contract/errors.ts";
import { type Clock, repeat } from "../../machine/clock.ts";
import type { Log } from "../../machine/log.ts";
import { freshName } from "../../machine/privateFile.ts";
import { codeOf, isMissing } from "../../project/systemErrors.ts";
import { databaseFile } from "../store/openDatabase.ts";
import { isLocked, isOfDisk, storageFault, withoutLocks } from "../store/storageFault.ts";

export type FolderLock = Disposable;

function lockFile(folder: string): string {
  return join(folder, "service.lock");
}

/**
 * Locks the data folder for one service process, by SQLite's lock on a file: the operating system releases it when the
 * process dies, however it dies.
 * @returns undefined when another process holds the lock, or a lock on an earlier file of this path, since deleted.
 * @throws PipelineError `internal` when the file can't be used.
 */
export function lockFolder(folder: string): FolderLock | undefined {
  const path = lockFile(folder);
  let file: DatabaseSync | undefined;
  try {
    const isNew = restrictToUser(path);
    file = new DatabaseSync(path, { timeout: 0 });
    file.exec("begin exclusive");
    if (isNew && isDeletedHeld(path)) {
      // Removed, so that the next attempt creates the file again and makes this check too.
      rmSync(path);
      file.close();
      return undefined;
    }
  } catch (cause) {
    file?.close();
    if (isLocked(cause)) {
      if (hasLocks(folder)) return undefined;
      throw withoutLocks(path);
    }
    if (isOfDisk(cause)) throw storageFault(cause, path);
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new PipelineError("internal", `The file ${path} can't be used: ${why}.`, {
      cause,
      next: "Check that the folder can be written, or delete that file; it holds nothing.",
    });
  }
  return { [Symbol.dispose]: () => file.close() };
}

/** Whether a new file can be locked. SQLite says `locked` also where the file system has no locks, or none left. */
function hasLocks(folder: string): boolean {
  const path = freshName(join(folder, "service.lock"));
  const file = new DatabaseSync(path, { timeout: 0 });
  try {
    file.exec("begin exclusive");
    return true;
  } catch (error) {
    return !isLocked(error);
  } finally {
    file.close();
    rmSync(path, { force: true });
  }
}

/**
 * Whether a process holds a lock on an earlier file of this path, which was deleted: a service that is still ending its runs.
 * Only Linux tells; processes of other users stay hidden.
 */
function isDeletedHeld(path: string): boolean {
  const deleted = `${realpathSync(path)} (deleted)`;
  // Read several times: a lock may be missed while others come and go. The first takes Linux some 20 ms.
  const list = () => orNone(() => readFileSync("/proc/locks", "latin1").split("\n"));
  const locks = [...list(), ...list(), ...list()];
  const holders = locks.flatMap((line) => / POSIX +ADVISORY +WRITE (\d+) /.exec(line)?.[1] ?? []);
  return [...new Set(holders)].some((pid) =>
    orNone(() => readdirSync(`/proc/${pid}/fd`)).some((descriptor) =>
      orNone(() => [readlinkSync(`/proc/${pid}/fd/${descriptor}`)]).includes(deleted),
    ),
  );
}

function orNone(read: () => string[]): string[] {
  try {
    return read();
  } catch {
    return [];
  }
}

/**
 * SQLite would make the file readable for everyone, and whoever can read it can lock it. An existing file is not opened:
 * closing it would release a lock that this process holds.
 * @returns whether it had to be made.
 */
function restrictToUser(path: string): boolean {
  try {
    closeSync(openSync(path, "wx", 0o600));
    return true;
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    chmodSync(path, 0o600);
    return false;
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
 * Calls `onLost` once the data folder, or its lock or database file, was moved, deleted or replaced: whatever is written is
 * then lost, and another service may start in its place. A deleted lock is noticed at once where the system can watch files,
 * so that the other service needn't wait long. @returns a function that stops watching; resolves when nothing is under way.
 */
export async function watchFolder({
  folder,
  clock,
  onChecked,
  onLost,
  log,
}: FolderWatch): Promise<() => Promise<void>> {
  const held = await Promise.all(
    [lockFile(folder), databaseFile(folder)].map(async (path) => ({
      path,
      as: await stat(path, { bigint: true }),
    })),
  );
  let isLost = false;
  const { soon, stop } = repeat(clock, checkMilliseconds, async () => {
    const areHeld = await Promise.all(held.map(isHeld));
    if (isLost) return;
    isLost = areHeld.includes(false);
    if (isLost) return onLost();
    // Not fatal: the disk may be full only for a while.
    await onChecked().catch((error: unknown) =>
      log("error", "the connection file could not be restored", { error }),
    );
  });
  const watcher = watchFile(lockFile(folder), soon);
  return () => {
    watcher?.close();
    return stop();
  };
}

/** Only a missing file counts as lost: any other error, as of an unreachable folder, doesn't mean that it is gone. */
async function isHeld({ path, as }: { readonly path: string; readonly as: BigIntStats }): Promise<boolean> {
  return stat(path, { bigint: true }).then(
    (now) => now.ino === as.ino && now.dev === as.dev,
    (error: unknown) => !isMissing(error),
  );
}

/** @returns undefined where the system can't watch files, or not this many. */
function watchFile(path: string, onChange: () => void): FSWatcher | undefined {
  try {
    return watch(path, { persistent: false }, onChange).on("error", () => {});
  } catch {
    return undefined;
  }
}
