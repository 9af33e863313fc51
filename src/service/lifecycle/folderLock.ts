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
  watch,
} from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { PipelineError } from "../../contract/errors.ts";
import type { Clock } from "../../machine/clock.ts";
import type { Log } from "../../machine/log.ts";
import { codeOf, isMissing } from "../../project/systemErrors.ts";
import { databaseFile } from "../store/openDatabase.ts";
import { isDiskFull, storageFault } from "../store/storageFault.ts";

export type FolderLock = Disposable;

function lockFile(folder: string): string {
  return join(folder, "service.lock");
}

/**
 * Locks the data folder for one service process, by SQLite's lock on a file: the operating system releases it when the
 * process dies, however it dies.
 * @returns undefined when another process holds it, or one that was deleted.
 * @throws PipelineError `internal` when the file can't be used.
 */
export function lockFolder(folder: string, log: Log): FolderLock | undefined {
  const path = lockFile(folder);
  let file: DatabaseSync | undefined;
  try {
    restrictToUser(path);
    file = new DatabaseSync(path, { timeout: 0 });
    file.exec("begin exclusive");
    const holder = holderOfDeleted(path);
    if (holder !== undefined) {
      log("warn", "another service of this folder, whose lock was deleted, has to end first", {
        pid: holder,
      });
      file.close();
      return undefined;
    }
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
 * The process that holds a lock on an earlier file of this path, which was deleted: a service that is still ending its runs. Only
 * Linux tells; processes of other users stay hidden.
 */
function holderOfDeleted(path: string): string | undefined {
  const deleted = `${realpathSync(path)} (deleted)`;
  const locks = orNone(() => readFileSync("/proc/locks", "latin1").split("\n"));
  const holders = locks.flatMap((line) => / POSIX +ADVISORY +WRITE (\d+) /.exec(line)?.[1] ?? []);
  return [...new Set(holders)].find((pid) =>
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
 */
function restrictToUser(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
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
 * Calls `onLost` once the data folder, or the lock or the database in it, was moved, deleted or replaced: what is written goes
 * nowhere, and another service may start in its place. A deleted lock is noticed at once where the system tells of it, so that the other one need
 * not wait long. @returns a function that stops watching.
 */
export async function watchFolder({
  folder,
  clock,
  onChecked,
  onLost,
  log,
}: FolderWatch): Promise<() => void> {
  const held = await Promise.all(
    [lockFile(folder), databaseFile(folder)].map(async (path) => ({
      path,
      as: await stat(path, { bigint: true }),
    })),
  );
  let isStopped = false;
  let cancelTimer = () => {};
  const look = async (): Promise<void> => {
    const areHeld = await Promise.all(
      held.map(({ path, as }) =>
        stat(path, { bigint: true }).then(
          (now) => isSame(now, as),
          // Any other error, as of an unreachable folder, doesn't say that it is gone.
          (error: unknown) => !isMissing(error),
        ),
      ),
    );
    if (isStopped || areHeld.every(Boolean)) return;
    stop();
    onLost();
  };
  const watcher = watchFile(lockFile(folder), () => void look());
  const stop = () => {
    isStopped = true;
    watcher?.close();
    cancelTimer();
  };
  const checkLater = () => {
    cancelTimer = clock.after(checkMilliseconds, () => void check());
  };
  const check = async (): Promise<void> => {
    await look();
    if (isStopped) return;
    // Goes on: the disk may be full for a while.
    await onChecked().catch((error: unknown) =>
      log("error", "the connection file could not be restored", { error }),
    );
    if (!isStopped) checkLater();
  };
  checkLater();
  return stop;
}

/** @returns undefined where the system can't watch files, or not this many. */
function watchFile(path: string, onChange: () => void): FSWatcher | undefined {
  try {
    return watch(path, { persistent: false }, onChange).on("error", () => {});
  } catch {
    return undefined;
  }
}

function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return one.ino === other.ino && one.dev === other.dev;
}
