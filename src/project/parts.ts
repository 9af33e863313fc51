import { closeSync, constants, fstatSync, openSync, readSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { describeError } from "../contract/errors.ts";
import { largestFile } from "../pipeline/file/size.ts";
import { parsePipeline } from "../pipeline/parsePipeline.ts";
import type { ReadPart } from "../pipeline/partFiles.ts";
import type { ParsedPipeline } from "../pipeline/pipeline.ts";
import { isInside } from "./envFile.ts";
import { readUtf8 } from "./utf8.ts";

/** Enough of a longer text for the parser to reject it as too long: at most three bytes a character. */
export const mostBytesRead = 3 * largestFile + 1;

/** Parses a pipeline file with the parts that it includes, which are read now. @param path absolute. */
export function parseWithParts(text: string, path: string): ParsedPipeline {
  let root: string | undefined;
  return parsePipeline(text, path, (part) => {
    root ??= projectAround(path);
    return readPart(root, part);
  });
}

/** Whether a text may include others, so that what it means depends on more than itself. */
export function mayInclude(text: string): boolean {
  return /\binclude\b/.test(text);
}

/** The nearest folder above a file that holds a folder `pipelines`; without one, that of the file. */
function projectAround(path: string): string {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if (statSync(join(folder, "pipelines"), { throwIfNoEntry: false })?.isDirectory() === true) return folder;
    if (folder === dirname(folder)) return dirname(path);
  }
}

/** Reads a plain file of the project. @param path relative to its root. */
export function readPart(root: string, path: string): ReturnType<ReadPart> {
  const unreadable = (problem: string) => ({ kind: "unreadable", problem }) as const;
  try {
    const file = realpathSync(join(root, path));
    if (!isInside(realpathSync(root), file)) return unreadable("it is a link out of the project's folder");
    const bytes = readPlainFile(file);
    if (bytes === undefined) return unreadable("it is no plain file");
    const read = readUtf8(bytes, bytes.length < mostBytesRead);
    return read.kind === "text" ? { kind: "read", text: read.text } : unreadable(read.problem);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    const isMissing = code === "ENOENT" || code === "ENOTDIR";
    return unreadable(isMissing ? `it isn't in the project's folder, ${root}` : describeError(error));
  }
}

/**
 * Reads a plain file; a named pipe would block, and a device would never end. Checked once open, so that none can take the
 * file's place in between. @returns undefined for anything else.
 */
function readPlainFile(path: string): Uint8Array | undefined {
  // Windows has neither the flag nor named pipes in folders.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) return undefined;
    const buffer = Buffer.allocUnsafe(Math.min(stats.size, mostBytesRead));
    return buffer.subarray(0, readSync(file, buffer, 0, buffer.length, 0));
  } finally {
    closeSync(file);
  }
}
