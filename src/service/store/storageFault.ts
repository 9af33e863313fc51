import { PipelineError } from "../../contract/errors.ts";
import { codeOf } from "../../project/systemErrors.ts";

/** SQLite's primary result codes (https://sqlite.org/rescode.html) that are about the disk. */
const codes = {
  perm: 3,
  busy: 5,
  locked: 6,
  outOfMemory: 7,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cantOpen: 14,
  notADatabase: 26,
} as const;

/** SQLite's I/O error where there is no space for the index of its WAL. */
const noSpaceForIndex = 4874;

/**
 * An error of SQLite or the file system about the database's file, as a PipelineError that says what is wrong and what to
 * do next. Any other error is returned as it is.
 */
export function storageFault(thrown: unknown, file: string): unknown {
  const code = primaryCode(thrown) ?? codeOf(thrown);
  const [, faultOf] = faults.find(([codesOfIt]) => codesOfIt.some((known) => known === code)) ?? [];
  if (faultOf === undefined) return thrown;
  const { message, next } = faultOf(file, thrown instanceof Error ? thrown.message : String(thrown));
  return new PipelineError("internal", message, { cause: thrown, next });
}

/** Whether SQLite has thrown this because the disk is full. */
export function isDiskFull(thrown: unknown): boolean {
  return primaryCode(thrown) === codes.full;
}

/** Whether this was thrown because another process has locked the database. */
export function isLocked(thrown: unknown): boolean {
  const code = primaryCode(thrown instanceof PipelineError ? thrown.cause : thrown);
  return code === codes.busy || code === codes.locked;
}

interface Fault {
  readonly message: string;
  readonly next: string;
}

/** What is wrong by SQLite's primary result code, or by the system's. @param why in their words. */
const faults: readonly (readonly [
  codes: readonly (number | string)[],
  faultOf: (file: string, why: string) => Fault,
])[] = [
  [[codes.full, "ENOSPC", "EDQUOT"], full],
  [[codes.readOnly, codes.perm, codes.cantOpen, "EACCES", "EPERM", "EROFS", "EISDIR", "ENOTDIR"], unwritable],
  [[codes.corrupt, codes.notADatabase], damaged],
  [
    [codes.ioError],
    (file, why) => ({
      message: `The disk failed at the database ${file}: ${why}. Nothing was written.`,
      next: "Check the disk and its file system; then try again.",
    }),
  ],
  [
    [codes.busy, codes.locked],
    (file) => ({
      message: `Another program holds the database ${file} and doesn't let go of it. Nothing was written.`,
      next: "End the program that has it open, then try again.",
    }),
  ],
  [
    [codes.outOfMemory],
    () => ({
      message: "There is no memory left for the database. Nothing was written.",
      next: "Close other programs, then try again.",
    }),
  ],
];

/** The error of a damaged database. @param why in SQLite's words. */
export function damagedDatabase(file: string, why: string): PipelineError {
  const { message, next } = damaged(file, why);
  return new PipelineError("internal", message, { next });
}

function damaged(file: string, why: string): Fault {
  return {
    message: `The database ${file} is damaged: ${why}.`,
    next:
      "Stop the service, move the file and those beside it that end in -wal and -shm to another folder, and start " +
      "again with a backup in its place, or with none and an empty database (docs/service-data.md).",
  };
}

/** Without the upper bits of the extended result code, which don't change what to do. */
function primaryCode(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error && "errcode" in thrown && typeof thrown.errcode === "number"))
    return undefined;
  return thrown.errcode === noSpaceForIndex ? codes.full : thrown.errcode & 0xff;
}

function full(file: string): Fault {
  return {
    message: `The disk is full: ${file} can't take more. Nothing was written.`,
    next: "Free some space on that disk, then try again.",
  };
}

function unwritable(file: string, why: string): Fault {
  return {
    message: `The database ${file} can't be written: ${why}.`,
    next:
      "Check that its folder and the files in it belong to this user and may be written, or name another folder with " +
      "PIPELINE_DATA_DIR.",
  };
}
