import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { largestFile, type ParsedPipeline, parsePipeline } from "../../pipeline/parse/parsePipeline.ts";

/** What a pipeline file holds. `text` is undefined where it couldn't be read. */
export interface ReadPipeline {
  readonly text: string | undefined;
  readonly parsed: ParsedPipeline;
  /** Whether there is no such file any more. */
  readonly isGone?: boolean;
}

/**
 * Reads a pipeline file, or tells what is wrong with it; also that it can't be read is a problem of the file. Never throws.
 * @param parse gets the text and the path.
 */
export async function readPipelineFile(
  path: string,
  parse: (text: string, path: string) => ParsedPipeline = parsePipeline,
): Promise<ReadPipeline> {
  try {
    const text = await readPlainFile(path);
    return text === undefined ? unreadable("this is no plain file") : { text, parsed: parse(text, path) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const isGone = error instanceof Error && "code" in error && error.code === "ENOENT";
    return { ...unreadable(`the file can't be read: ${why}`), ...(isGone ? { isGone } : {}) };
  }
}

/** Of a longer text just so much that the parser finds it too long: three bytes a character at the most. */
export const mostBytesRead = 3 * largestFile + 1;

/**
 * A named pipe would hold up the reader for ever and a device never end, so only a plain file is read, and only once it
 * is open is it known to be one.
 * @returns undefined for anything but a plain file.
 */
async function readPlainFile(path: string): Promise<string | undefined> {
  // Windows has no such flag, and no named pipes among its files.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = await file.stat();
    if (!stats.isFile()) return undefined;
    const buffer = Buffer.allocUnsafe(Math.min(stats.size, mostBytesRead));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

function unreadable(message: string): ReadPipeline {
  return { text: undefined, parsed: { kind: "invalid", problems: [{ message, line: 1, column: 1 }] } };
}
