import { type FileHandle, open } from "node:fs/promises";

/** A piece of a log: whole lines, without their ends, and the sequence number of the first. */
export interface LogLines {
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
