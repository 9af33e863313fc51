import type { BigIntStats } from "node:fs";
import { stat } from "node:fs/promises";
import type { Clock } from "../../contract/clock.ts";
import type { Log } from "../log.ts";
import { lockFile } from "./folderLock.ts";

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
