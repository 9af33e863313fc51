import { PipelineError } from "../../contract/errors.ts";
import { codeOf } from "../../project/systemErrors.ts";

interface Fault {
  /** SQLite's result codes (https://sqlite.org/rescode.html), or the system's. */
  readonly codes: readonly (number | string)[];
  /** @param why in the words of SQLite or the system. */
  readonly message: (file: string, why: string) => string;
  readonly next: string;
}

const full: Fault = {
  // 4874 is an I/O error: there is no space for the index of the WAL.
  codes: [13, 4874, "ENOSPC", "EDQUOT"],
  message: (file) => `The disk is full: ${file} can't take more. Nothing was written.`,
  next: "Free some space on that disk, or remove files where it takes no more of them, then try again.",
};
const damaged: Fault = {
  codes: [11, 26],
  message: (file, why) => `The database ${file} is damaged: ${why}.`,
  next:
    "Stop the service, move the file and those beside it that end in -wal and -shm to another folder, and start " +
    "again with a backup in its place, or with none and an empty database (docs/service-data.md).",
};
const locked: Fault = {
  codes: [5, 6],
  message: (file) =>
    `Another program holds the database ${file} and doesn't let go of it. Nothing was written.`,
  next: "End the program that has it open, then try again.",
};

/** SQLITE_IOERR_RDLOCK, SQLITE_IOERR_UNLOCK and SQLITE_IOERR_LOCK. */
const noLocks: Fault = {
  codes: [2314, 2058, 3850],
  message: (file) =>
    `The file system of ${file} has no locks, as some network drives and FUSE mounts have none.`,
  next: "Name a folder on a disk of this machine with PIPELINE_DATA_DIR or --data-dir.",
};

/** What is wrong with the database's disk. */
const faults: readonly Fault[] = [
  full,
  noLocks,
  damaged,
  locked,
  {
    codes: [3, 8, 14, "EACCES", "EPERM", "EROFS", "EISDIR", "ENOTDIR"],
    message: (file, why) => `The database ${file} can't be written: ${why}.`,
    next:
      "Check that its folder and the files in it belong to this user and may be written, or name another folder with " +
      "PIPELINE_DATA_DIR.",
  },
  {
    codes: [10],
    message: (file, why) => `The disk failed at the database ${file}: ${why}. Nothing was written.`,
    next: "Check the disk and its file system; then try again.",
  },
  {
    codes: [7],
    message: () => "There is no memory left for the database. Nothing was written.",
    next: "Close other programs, then try again.",
  },
];

/**
 * An error of SQLite or the file system about the database's file, as a PipelineError that says what is wrong and what to
 * do next. Any other error is returned as it is.
 */
export function storageFault(thrown: unknown, file: string): unknown {
  const fault = faults.find((each) => isOf(each, thrown));
  if (fault === undefined) return thrown;
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  return new PipelineError("internal", fault.message(file, why), { cause: thrown, next: fault.next });
}

/** Whether the disk is full, or nothing on it can be locked; neither is a fault of the file itself. */
export function isOfDisk(thrown: unknown): boolean {
  return isOf(full, thrown) || isOf(noLocks, thrown);
}

/** Whether this was thrown because another process has locked the database. */
export function isLocked(thrown: unknown): boolean {
  return isOf(locked, thrown instanceof PipelineError ? thrown.cause : thrown);
}

/** The error of a file system on which nothing can be locked. */
export function withoutLocks(file: string): PipelineError {
  return new PipelineError("internal", noLocks.message(file, ""), { next: noLocks.next });
}

/** The error of a damaged database. @param why in SQLite's words. */
export function damagedDatabase(file: string, why: string): PipelineError {
  return new PipelineError("internal", damaged.message(file, why), { next: damaged.next });
}

function isOf({ codes }: Fault, thrown: unknown): boolean {
  if (!(thrown instanceof Error && "errcode" in thrown && typeof thrown.errcode === "number"))
    return codes.some((code) => code === codeOf(thrown));
  // The upper bits of an extended result code seldom change what to do.
  return codes.includes(thrown.errcode) || codes.includes(thrown.errcode & 0xff);
}
