import { type LogChunk, type LogTail, readLogLine } from "./logStore.ts";

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
