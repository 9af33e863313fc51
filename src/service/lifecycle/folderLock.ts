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

interface FolderWatch {
  readonly folder: string;
  readonly clock: Pick<Clock, "after">;
  /** Called now and then while the folder is this service's. */
  readonly onKept: () => Promise<void>;
  readonly onLost: () => void;
  readonly log: Log;
}

/** How often the folder is looked at, in milliseconds. */
const lookEvery = 10_000;

/**
 * Calls `onLost` once the data folder, or the lock in it, is no longer the one that this service holds: it was moved or
 * deleted, what is written goes nowhere, and another service may have begun in its place. @returns the way to stop.
 */
export async function watchFolder({ folder, clock, onKept, onLost, log }: FolderWatch): Promise<() => void> {
  const path = lockFile(folder);
  const held = await stat(path, { bigint: true });
  let isOver = false;
  let takeBack = () => {};
  const look = async (): Promise<void> => {
    const now = await stat(path, { bigint: true }).catch((error: unknown) =>
      isMissing(error) ? "gone" : held,
    );
    if (isOver) return;
    if (now === "gone" || !isSame(now, held)) {
      onLost();
      return;
    }
    // A disk that is full or a folder that can't be written for a while is no reason to stop looking.
    await onKept().catch((error: unknown) =>
      log("error", "the data folder could not be kept in order", { error }),
    );
    lookLater();
  };
  const lookLater = () => {
    if (!isOver) takeBack = clock.after(lookEvery, () => void look());
  };
  lookLater();
  return () => {
    isOver = true;
    takeBack();
  };
}

function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return one.ino === other.ino && one.dev === other.dev;
}

/** Any other error, as of a folder that can't be reached for a moment, says nothing of whose it is. */
function isMissing(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ENOENT" || code === "ENOTDIR";
}
