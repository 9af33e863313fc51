import { type LogEntry, logEntrySchema } from "../../contract/log.ts";
import { readJson } from "../../contract/wire.ts";

/** Where the logs and the artifacts of runs are read: in files of the data folder, in the database, or in an object store. */
export interface LogStore {
  /** Whether this process is writing the run's log now, so that its end is to be waited for. */
  isOpen(runId: string): boolean;
  /** A reader of a run's log from its beginning. To be disposed once it was read from. @throws when the log is out of reach. */
  reader(runId: string): Promise<LogReader>;
  /** The last entries of a run's log. The cost doesn't grow with the log. */
  tail(runId: string): Promise<LogTail>;
  /** Calls back when the log begins, grows or ends. @returns a function that unsubscribes. */
  subscribe(runId: string, listener: () => void): () => void;
  /** The content of an artifact that the run lists; undefined when it is not there. */
  openArtifact(runId: string, file: string): Promise<OpenArtifact | undefined>;
}

export interface LogReader extends AsyncDisposable {
  /** The next complete lines after a sequence number; undefined when there are no more now, and once it is disposed. */
  next(after: number): Promise<LogChunk | undefined>;
}

/** Complete lines of a log, without their ends, and the sequence number of the first. */
export interface LogChunk {
  readonly first: number;
  readonly lines: readonly string[];
}

export interface LogTail {
  readonly entries: readonly LogEntry[];
  /** Whether the log begins with the first of them. */
  readonly isWhole: boolean;
}

/** An artifact that is being read. It has to be closed, unless its stream is read to the end or cancelled. */
export interface OpenArtifact {
  /** In bytes. */
  readonly size: number;
  stream(): ReadableStream<Uint8Array>;
  close(): Promise<void>;
}

/** How much of the end of a log a tail has, in bytes. */
export const tailBytes = 256 * 1024;

/** The entry of a line. @returns none for a line that isn't one. */
export function readLogLine(line: string): LogEntry[] {
  return [readJson(logEntrySchema, line) ?? []].flat();
}

const lineEnd = 10;

/** Reads the lines of a log piece by piece from its beginning, wherever its bytes are. */
export class LineReader {
  readonly #bytesAt: (position: number, length: number) => Promise<Buffer>;
  readonly #pieceBytes: number;
  #position = 0;
  #read = 0;

  /** @param bytesAt reads a piece of `length` bytes, or fewer at the end. */
  constructor(pieceBytes: number, bytesAt: (position: number, length: number) => Promise<Buffer>) {
    this.#pieceBytes = pieceBytes;
    this.#bytesAt = bytesAt;
  }

  /** As `next` of a log's reader. @param until how many bytes may be read now. */
  async next(after: number, until = Number.POSITIVE_INFINITY): Promise<LogChunk | undefined> {
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

  async #chunk(until: number): Promise<LogChunk | undefined> {
    if (until <= this.#position) return undefined;
    for (let size = this.#pieceBytes; ; size *= 4) {
      const bytes = await this.#bytesAt(this.#position, Math.min(size, until - this.#position));
      const end = bytes.lastIndexOf(lineEnd);
      if (end === -1) {
        if (bytes.length < size) return undefined;
        continue;
      }
      const lines = bytes.toString("utf8", 0, end).split("\n");
      const first = this.#read + 1;
      this.#position += end + 1;
      this.#read += lines.length;
      return { first, lines };
    }
  }
}

/** The entries in the last bytes of a log. @param isWhole whether they are all of it. */
export function tailOf(bytes: Buffer, isWhole: boolean): LogTail {
  const text = bytes.toString("utf8");
  // Unless the log is read from its start, the first line is part of an entry.
  const lines = text.slice(isWhole ? 0 : text.indexOf("\n") + 1).split("\n");
  // The last line may be an entry that is still being written.
  return { entries: lines.slice(0, -1).flatMap(readLogLine), isWhole };
}
