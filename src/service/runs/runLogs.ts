import { type FileHandle, open } from "node:fs/promises";
import { type LogEntry, logEntrySchema } from "../../contract/log.ts";
import { fromWire } from "../../contract/wire.ts";
import type { Log } from "../log.ts";
import { emptyLog, LogWriter, mendLog, type NewEntry } from "./logWriter.ts";
import { runFolder } from "./runFolder.ts";

interface RunLogsDeps {
  /** The service's data folder. */
  readonly folder: string;
  readonly log: Log;
  readonly now: () => number;
}

/** The log of a run in work, as its service writes it. */
export interface OpenLog {
  append(entry: NewEntry): void;
  /** Resolves when all that was told is on the disk. */
  complete(): Promise<void>;
  /** Tells the readers that nothing comes any more: the run's end is known to all. */
  end(): void;
}

interface LogPage {
  readonly entries: readonly LogEntry[];
  /** Whether there are entries behind these now. */
  readonly hasMore: boolean;
}

/** The logs of the runs: written while a run is in work, read by any number of readers at any time. */
export class RunLogs {
  readonly #deps: RunLogsDeps;
  readonly #open = new Map<string, LogWriter>();
  readonly #listeners = new Map<string, Set<() => void>>();

  constructor(deps: RunLogsDeps) {
    this.#deps = deps;
  }

  /** Begins the log of a run that is about to start. */
  begin(runId: string): OpenLog {
    const writer = new LogWriter(this.#file(runId), emptyLog, this.#writing(runId));
    this.#open.set(runId, writer);
    this.#tell(runId);
    return {
      append: (entry) => writer.append(entry),
      complete: () => writer.complete(),
      end: () => {
        this.#open.delete(runId);
        this.#tell(runId);
      },
    };
  }

  /** Ends the log of a run that a service which died has left: half a line is cut off, and a note says what happened. */
  async mend(runId: string, note: string): Promise<void> {
    try {
      const { extent, last } = await mendLog(this.#file(runId));
      if (last === undefined) return;
      const writer = new LogWriter(this.#file(runId), extent, this.#writing(runId));
      const at = new Date(this.#deps.now()).toISOString();
      writer.append({ at, stepIndex: last.stepIndex, stream: "note", text: `${note}\n` });
      await writer.complete();
    } catch (error) {
      this.#deps.log("error", "log not mended", { runId, error });
    }
  }

  /** Whether this service is writing the run's log now. */
  isOpen(runId: string): boolean {
    return this.#open.has(runId);
  }

  /** How many bytes of the log's file may be read: undefined when nothing of it changes any more. */
  readable(runId: string): number | undefined {
    return this.#open.get(runId)?.extent.bytes;
  }

  /** A new reader of a run's log, which has to be disposed. */
  reader(runId: string): LogReader {
    return new LogReader(this.#file(runId));
  }

  /** At most `limit` entries behind the one numbered `after` (0: from the first). */
  async page(runId: string, after: number, limit: number): Promise<LogPage> {
    await using reader = this.reader(runId);
    const until = this.readable(runId);
    const entries: LogEntry[] = [];
    while (entries.length <= limit) {
      const piece = await reader.next(after, until);
      if (piece === undefined) break;
      entries.push(...piece.lines.flatMap((line) => readEntry(line) ?? []));
    }
    return { entries: entries.slice(0, limit), hasMore: entries.length > limit };
  }

  /** Calls back when the log has begun, has grown or has ended. @returns the way to stop listening. */
  listen(runId: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(runId) ?? new Set();
    this.#listeners.set(runId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(runId) === listeners) this.#listeners.delete(runId);
    };
  }

  #writing(runId: string) {
    return {
      onGrown: () => this.#tell(runId),
      onTrouble: (error: unknown) => this.#deps.log("error", "log not written", { runId, error }),
    };
  }

  #tell(runId: string): void {
    for (const listener of [...(this.#listeners.get(runId) ?? [])]) listener();
  }

  #file(runId: string): string {
    return runFolder(this.#deps.folder, runId).log;
  }
}

function readEntry(line: string): LogEntry | undefined {
  const parsed = fromWire(logEntrySchema, JSON.parse(line));
  return parsed.kind === "valid" ? parsed.value : undefined;
}

/** A piece of a log: whole lines, without their ends, and the sequence number of the first. */
interface LogLines {
  readonly first: number;
  readonly lines: readonly string[];
}

const pieceSize = 64 * 1024;
const lineEnd = 10;

/** Reads a log's file line by line from its beginning, by position: nothing but a piece of it is ever in memory. */
export class LogReader implements AsyncDisposable {
  readonly #file: string;
  #handle: FileHandle | undefined;
  #position = 0;
  #passed = 0;
  #isDisposed = false;

  constructor(file: string) {
    this.#file = file;
  }

  /**
   * The next lines of those behind `after`. What has no line end yet isn't there yet.
   * @param until how many bytes of the file may be read; undefined: all that there are.
   * @returns undefined when there are no more now, and when the reader was disposed meanwhile.
   * @throws what the file system says, but not of a file that isn't there yet.
   */
  async next(after: number, until: number | undefined): Promise<LogLines | undefined> {
    for (;;) {
      const piece = await this.#piece(until);
      if (piece === undefined) return undefined;
      const { first, lines } = piece;
      if (first + lines.length - 1 > after) {
        const skipped = Math.max(0, after + 1 - first);
        return { first: first + skipped, lines: lines.slice(skipped) };
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  async #piece(until = Number.POSITIVE_INFINITY): Promise<LogLines | undefined> {
    if (until <= this.#position) return undefined;
    const handle = await this.#opened();
    if (handle === undefined) return undefined;
    for (let size = pieceSize; ; size *= 4) {
      const most = Math.min(size, until - this.#position);
      const bytes = Buffer.allocUnsafe(most);
      const { bytesRead } = await handle.read(bytes, 0, most, this.#position);
      const end = bytes.subarray(0, bytesRead).lastIndexOf(lineEnd);
      if (end === -1) {
        if (bytesRead < size) return undefined;
        continue;
      }
      const lines = bytes.toString("utf8", 0, end).split("\n");
      const first = this.#passed + 1;
      this.#position += end + 1;
      this.#passed += lines.length;
      return { first, lines };
    }
  }

  async #opened(): Promise<FileHandle | undefined> {
    if (this.#isDisposed) return undefined;
    if (this.#handle !== undefined) return this.#handle;
    const handle = await openThere(this.#file);
    // Who leaves while the file is being opened finds nothing to close yet.
    if (this.#isDisposed) {
      await handle?.close();
      return undefined;
    }
    this.#handle = handle;
    return handle;
  }
}

async function openThere(file: string): Promise<FileHandle | undefined> {
  try {
    return await open(file, "r");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
