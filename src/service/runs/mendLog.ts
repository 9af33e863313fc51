import { type FileHandle, open } from "node:fs/promises";
import { type LogEntry, logEntrySchema } from "../../contract/logEntry.ts";
import { fromWire } from "../../contract/wire.ts";
import { emptyLog, type LogExtent } from "./logWriter.ts";

/** A log's file as it is after it was mended, and its last entry. */
export interface MendedLog {
  readonly extent: LogExtent;
  readonly last: LogEntry | undefined;
}

const pieceSize = 256 * 1024;
const lineEnd = 10;

/**
 * Cuts off what a service that died left half written at the end of a log, so that its numbers go on without a gap.
 * @throws what the file system says, but not of a file that isn't there: that log is empty.
 */
export async function mendLog(file: string): Promise<MendedLog> {
  let handle: FileHandle;
  try {
    handle = await open(file, "r+");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") {
      return { extent: emptyLog, last: undefined };
    }
    throw error;
  }
  try {
    for (const ends = await lineEnds(handle); ; ends.pop()) {
      const [start = 0, bytes = 0] = [ends.at(-2), ends.at(-1)];
      const last = bytes === 0 ? undefined : await entryAt(handle, start, bytes);
      // After a power cut the last lines may be there without what was in them.
      if (bytes > 0 && last?.sequence !== ends.length) continue;
      await handle.truncate(bytes);
      return { extent: { bytes, entries: ends.length }, last };
    }
  } finally {
    await handle.close();
  }
}

/** Where each line's end is passed, in order. */
async function lineEnds(handle: FileHandle): Promise<number[]> {
  const ends: number[] = [];
  const piece = Buffer.allocUnsafe(pieceSize);
  for (let position = 0; ; ) {
    const { bytesRead } = await handle.read(piece, 0, pieceSize, position);
    if (bytesRead === 0) return ends;
    const there = piece.subarray(0, bytesRead);
    for (let at = there.indexOf(lineEnd); at !== -1; at = there.indexOf(lineEnd, at + 1)) {
      ends.push(position + at + 1);
    }
    position += bytesRead;
  }
}

async function entryAt(handle: FileHandle, from: number, to: number): Promise<LogEntry | undefined> {
  const bytes = Buffer.alloc(to - from);
  await handle.read(bytes, 0, bytes.length, from);
  try {
    const parsed = fromWire(logEntrySchema, JSON.parse(bytes.toString("utf8")));
    return parsed.kind === "valid" ? parsed.value : undefined;
  } catch {
    return undefined;
  }
}
