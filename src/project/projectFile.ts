import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { describeError } from "../contract/errors.ts";
import { isMissing } from "./systemErrors.ts";

/**
 * The names of pipeline files in a project's `pipelines/`. As with a shell's `*.yaml`, hidden ones don't count: on a share macOS
 * keeps a `._build.yaml` beside a file, and Emacs locks one by a link, `.#build.yaml`.
 */
export const pipelineFileName = /^[^.].*\.yaml$/s;

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
    if (!isInside(realpathSync(root), file))
      return unreadable("it leads out of the project's folder: put the file itself there");
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

/** A file's text, or where it isn't UTF-8 and what it is instead. */
type ReadText =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "other"; readonly problem: string; readonly line: number; readonly column: number };

/**
 * Reads bytes as the UTF-8 that every file of a project is in: a letter that is lost in reading would change what is run.
 * A byte-order mark at the beginning is dropped.
 *
 * @param isWhole whether the bytes are the whole file; otherwise its last character may be cut.
 */
export function readUtf8(bytes: Uint8Array, isWhole = true): ReadText {
  const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    const text = decoder.decode(bytes, { stream: !isWhole });
    if (!text.includes("\0")) return { kind: "text", text };
    return other("it holds NUL characters, as UTF-16 does", text.slice(0, text.indexOf("\0")));
  } catch {
    if (isUtf16) return other("it is UTF-16", "");
    // Decoding replaces invalid bytes by U+FFFD, whose own bytes differ from them.
    const again = Buffer.from(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
    const differs = bytes.findIndex((byte, index) => byte !== again[index]);
    // The beginning of a character that is cut at the end may equal that of U+FFFD.
    const offset = differs === -1 ? again.length - 3 : differs;
    const before = again.subarray(0, offset).toString();
    const byte = bytes[offset] ?? 0;
    return other(`the byte 0x${byte.toString(16).toUpperCase()} here is none of its characters`, before);
  }
}

function other(how: string, before: string): ReadText {
  const lines = before.split("\n");
  const column = (lines.at(-1)?.length ?? 0) + 1;
  return {
    kind: "other",
    problem: `this is not UTF-8: ${how}; save the file as UTF-8`,
    line: lines.length,
    column,
  };
}
