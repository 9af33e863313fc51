import { open } from "node:fs/promises";
import { type LogEntry, logEntrySchema } from "../../contract/logEntry.ts";
import { fromWire } from "../../contract/wire.ts";

/** How much of a log's end is read, in bytes. */
const tailBytes = 256 * 1024;

export interface LogTail {
  readonly entries: readonly LogEntry[];
  /** Whether the log begins with the first of them. */
  readonly isWhole: boolean;
}

/**
 * The last entries of a run's log, read from the file's end, so that a huge one costs no more than a small one.
 * @param until how many bytes of the file may be read; undefined: all that there are.
 */
export async function readLogTail(file: string, until: number | undefined): Promise<LogTail> {
  await using handle = await open(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (handle === undefined) return { entries: [], isWhole: true };
  const end = until ?? (await handle.stat()).size;
  const start = Math.max(0, end - tailBytes);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(end - start), 0, end - start, start);
  const text = buffer.toString("utf8", 0, bytesRead);
  // What stands before the first line end is the rest of an entry.
  const lines = text.slice(start === 0 ? 0 : text.indexOf("\n") + 1).split("\n");
  // Behind the last line end there may be half an entry.
  return { entries: lines.slice(0, -1).flatMap(readLogEntry), isWhole: start === 0 };
}

/** One line of a log's file; none for what is no entry. */
export function readLogEntry(line: string): LogEntry[] {
  try {
    const parsed = fromWire(logEntrySchema, JSON.parse(line));
    return parsed.kind === "valid" ? [parsed.value] : [];
  } catch {
    return [];
  }
}
