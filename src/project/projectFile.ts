import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { describeError } from "../contract/errors.ts";
import { isMissing } from "./systemErrors.ts";
import { readUtf8 } from "./utf8.ts";

type ReadProjectFile =
  | { readonly kind: "read"; readonly text: string; readonly isWhole: boolean }
  | { readonly kind: "unreadable"; readonly problem: string; readonly isMissing: boolean };

/**
 * Reads a plain file of the project. Never throws.
 *
 * @param path relative to the project's folder.
 * @param most in bytes; a longer file is cut there.
 */
export function readProjectFile(root: string, path: string, most: number): ReadProjectFile {
  const unreadable = (problem: string, isMissing = false) =>
    ({ kind: "unreadable", problem, isMissing }) as const;
  try {
    const file = realpathSync(join(root, path));
    if (!isInside(realpathSync(root), file)) return unreadable("it leads out of the project's folder");
    const bytes = readPlainFile(file, most);
    if (bytes === undefined) return unreadable("it is no plain file");
    const isWhole = bytes.length <= most;
    const read = readUtf8(bytes.subarray(0, most), isWhole);
    if (read.kind === "text") return { kind: "read", text: read.text, isWhole };
    return unreadable(`line ${read.line}: ${read.problem}`);
  } catch (error) {
    return isMissing(error)
      ? unreadable(`it isn't in the project's folder, ${root}`, true)
      : unreadable(describeError(error));
  }
}

/** Whether a path is in a folder; both are absolute and without links. */
export function isInside(folder: string, file: string): boolean {
  const way = relative(folder, file);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/**
 * Reads a plain file; a named pipe would block, and a device would never end. Checked once open, so that none can take the
 * file's place in between. @returns one byte more of a longer file, undefined for anything else.
 */
function readPlainFile(path: string, most: number): Uint8Array | undefined {
  // Windows has neither the flag nor named pipes in folders.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) return undefined;
    const buffer = Buffer.allocUnsafe(Math.min(stats.size, most + 1));
    return buffer.subarray(0, readSync(file, buffer, 0, buffer.length, 0));
  } finally {
    closeSync(file);
  }
}
