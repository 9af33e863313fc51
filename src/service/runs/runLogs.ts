import { type FileHandle, open } from "node:fs/promises";
import { type LogEntry, logEntrySchema } from "../../contract/log.ts";
import { fromWire } from "../../contract/wire.ts";
import type { Log } from "../log.ts";
import { emptyLog, LogWriter, mendLog, type NewEntry } from "./logWriter.ts";
import { runFolder } from "./runFolder.ts";

interface RunLogsDeps {
  /** The data folder. */
  readonly folder: string;
  readonly log: Log;
  readonly now: () => number;
}

/** The log of an active run, as its service writes it. */
export interface OpenLog {
  append(entry: NewEntry): void;
  /** Resolves when all entries are on the disk. */
  complete(): Promise<void>;
  /** Wakes the readers to end: the run's end is in the database. */
  end(): void;
}

interface LogPage {
  readonly entries: readonly LogEntry[];
  /** Whether there are later entries now. */
  readonly hasMore: boolean;
}

/** The logs of the runs: each is written while its run is active, and read at any time. */
export class RunLogs {
  readonly #deps: RunLogsDeps;
  readonly #open = new Map<string, LogWriter>();
  readonly #listeners = new Map<string, Set<() => void>>();

  constructor(deps: RunLogsDeps) {
    this.#deps = deps;
  }

  /** Opens the log of a run that is about to start. */
  begin(runId: string): OpenLog {
    const writer = new LogWriter(this.#file(runId), emptyLog, this.#writing(runId));
    this.#open.set(runId, writer);
    this.#emit(runId);
    return {
      append: (entry) => writer.append(entry),
      complete: () => writer.complete(),
      end: () => {
        this.#open.delete(runId);
        this.#emit(runId);
      },
    };
  }

  /** Ends the log of a run whose service has died: cuts off a partial line, and adds a note. */
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

  /** The bytes of the log's file that may be read; undefined for all, once the log is complete. */
  readable(runId: string): number | undefined {
    return this.#open.get(runId)?.extent.bytes;
  }

  /** A new reader of a run's log. It has to be disposed. */
  reader(runId: string): LogReader {
    return new LogReader(this.#file(runId));
  }

  /** At most `limit` entries after the sequence number `after` (0: from the first). */
  async page(runId: string, after: number, limit: number): Promise<LogPage> {
    await using reader = this.reader(runId);
    const until = this.readable(runId);
    const entries: LogEntry[] = [];
    while (entries.length <= limit) {
      const chunk = await reader.next(after, until);
      if (chunk === undefined) break;
      entries.push(...chunk.lines.flatMap((line) => readEntry(line) ?? []));
    }
    return { entries: entries.slice(0, limit), hasMore: entries.length > limit };
  }

  /** Calls back when the log begins, grows or ends. @returns a function that unsubscribes. */
  subscribe(runId: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(runId) ?? new Set();
    this.#listeners.set(runId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(runId) === listeners) this.#listeners.delete(runId);
    };
  }

  #writing(runId: string) {
    return {
      onGrown: () => this.#emit(runId),
      onError: (error: unknown) => this.#deps.log("error", "log not written", { runId, error }),
    };
  }

  #emit(runId: string): void {
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

/** Complete lines of a log, without their ends, and the sequence number of the first. */
interface LogChunk {
  readonly first: number;
  readonly lines: readonly string[];
}

const chunkBytes = 64 * 1024;
const lineEnd = 10;

/** Reads a log's file chunk by chunk from its beginning. */
export class LogReader implements AsyncDisposable {
  readonly #file: string;
  #handle: FileHandle | undefined;
  #position = 0;
  #read = 0;
  #isDisposed = false;

  constructor(file: string) {
    this.#file = file;
  }

  /**
   * The next complete lines after the sequence number `after`.
   * @param until how many bytes of the file may be read; undefined for all.
   * @returns undefined when there are no more now, and when the reader is disposed.
   * @throws the file system's error, except for a file that does not exist.
   */
  async next(after: number, until: number | undefined): Promise<LogChunk | undefined> {
    for (;;) {
      const chunk = await this.#chunk(until);
      if (chunk === undefined) return undefined;
      const { first, lines } = chunk;
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

  async #chunk(until = Number.POSITIVE_INFINITY): Promise<LogChunk | undefined> {
    if (until <= this.#position) return undefined;
    const handle = await this.#open();
    if (handle === undefined) return undefined;
    for (let size = chunkBytes; ; size *= 4) {
      const most = Math.min(size, until - this.#position);
      const bytes = Buffer.allocUnsafe(most);
      const { bytesRead } = await handle.read(bytes, 0, most, this.#position);
      const end = bytes.subarray(0, bytesRead).lastIndexOf(lineEnd);
      if (end === -1) {
        if (bytesRead < size) return undefined;
        continue;
      }
      const lines = bytes.toString("utf8", 0, end).split("\n");
      const first = this.#read + 1;
      this.#position += end + 1;
      this.#read += lines.length;
      return { first, lines };
    }
  }

  async #open(): Promise<FileHandle | undefined> {
    if (this.#isDisposed) return undefined;
    if (this.#handle !== undefined) return this.#handle;
    const handle = await openFile(this.#file);
    // Disposed while the file was being opened.
    if (this.#isDisposed) {
      await handle?.close();
      return undefined;
    }
    this.#handle = handle;
    return handle;
  }
}

async function openFile(file: string): Promise<FileHandle | undefined> {
  try {
    return await open(file, "r");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
