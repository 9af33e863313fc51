import { constants } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import type { LogEntry } from "../../contract/logEntry.ts";
import { toWire } from "../../contract/wire.ts";

export type NewEntry = Omit<LogEntry, "sequence">;

/** What is whole in a log's file: so many bytes, which are so many entries. */
export interface LogExtent {
  readonly bytes: number;
  readonly entries: number;
}

export const emptyLog: LogExtent = { bytes: 0, entries: 0 };

export interface LogWriterDeps {
  /** Called whenever there is more to read. */
  readonly onGrown: () => void;
  /** Called when entries couldn't be written, once until some could again. */
  readonly onTrouble: (error: unknown) => void;
  readonly open?: (file: string, flags: number, mode: number) => Promise<FileHandle>;
}

/** So much is written at once, in characters: a log that grows faster must not make one huge write of it. */
const longestBatch = 512 * 1024;

/**
 * Appends a run's log to its file, in the order told. What was told while the last write went on is written together,
 * with one sync.
 * A disk that is full costs entries, never the run: a note in the log says how many as soon as it can be written.
 */
export class LogWriter {
  readonly #file: string;
  readonly #deps: LogWriterDeps;
  readonly #told: NewEntry[] = [];
  #extent: LogExtent;
  #handle: FileHandle | undefined;
  #writing: Promise<void> | undefined;
  /** Behind the extent there may be half of a write that failed. */
  #isTorn = false;
  /** Entries that couldn't be written since one could, and the last of them. */
  #lost = 0;
  #lastLost: { readonly entry: NewEntry; readonly why: string } | undefined;

  /** @param extent what the file holds; it is made when there is something to write. */
  constructor(file: string, extent: LogExtent, deps: LogWriterDeps) {
    this.#file = file;
    this.#extent = extent;
    this.#deps = deps;
  }

  /** What may be read now. Nothing of it changes any more. */
  get extent(): LogExtent {
    return this.#extent;
  }

  append(entry: NewEntry): void {
    this.#told.push(entry);
    this.#writing ??= this.#write();
  }

  /** Resolves when all that was told so far is written, or couldn't be. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  /** Resolves when all that was told is on the disk, or can't be brought there. Nothing may be told after. */
  async complete(): Promise<void> {
    await this.settled();
    if (this.#lost > 0) await this.#put([]);
    await this.#handle?.close().catch(() => {});
    this.#handle = undefined;
  }

  async #write(): Promise<void> {
    try {
      while (this.#told.length > 0) {
        let length = 0;
        const batch = this.#told.findIndex(({ text }) => {
          length += text.length;
          return length > longestBatch;
        });
        await this.#put(this.#told.splice(0, batch === -1 ? this.#told.length : batch + 1));
      }
    } finally {
      // In the very moment in which nothing is left: what is told a microtask later has to find that nobody is writing.
      this.#writing = undefined;
    }
  }

  async #put(batch: readonly NewEntry[]): Promise<void> {
    const entries = this.#lastLost === undefined ? batch : [missing(this.#lost, this.#lastLost), ...batch];
    const first = this.#extent.entries + 1;
    const bytes = Buffer.from(entries.map((entry, index) => lineOf(entry, first + index)).join(""));
    try {
      await this.#writeBytes(bytes);
    } catch (error) {
      if (this.#lost === 0) this.#deps.onTrouble(error);
      const entry = batch.at(-1) ?? this.#lastLost?.entry;
      this.#lost += batch.length;
      if (entry !== undefined) this.#lastLost = { entry, why: codeOf(error) };
      return;
    }
    this.#lost = 0;
    this.#lastLost = undefined;
    const { bytes: before, entries: count } = this.#extent;
    this.#extent = { bytes: before + bytes.length, entries: count + entries.length };
    this.#deps.onGrown();
  }

  async #writeBytes(bytes: Uint8Array): Promise<void> {
    this.#handle ??= await this.#open();
    if (this.#isTorn) await this.#handle.truncate(this.#extent.bytes);
    this.#isTorn = true;
    for (let done = 0; done < bytes.length; ) {
      const at = this.#extent.bytes + done;
      done += (await this.#handle.write(bytes, done, bytes.length - done, at)).bytesWritten;
    }
    // Nobody has read a number that a power cut could take back, and give to another entry.
    await this.#handle.datasync();
    this.#isTorn = false;
  }

  async #open(): Promise<FileHandle> {
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    return (this.#deps.open ?? open)(this.#file, constants.O_RDWR | constants.O_CREAT, 0o600);
  }
}

function lineOf(entry: NewEntry, sequence: number): string {
  return `${JSON.stringify(toWire({ sequence, ...entry }))}\n`;
}

function missing(count: number, { entry, why }: { entry: NewEntry; why: string }): NewEntry {
  const what = count === 1 ? "1 entry is" : `${count} entries are`;
  const text = `The log is incomplete: ${what} missing here, since the disk didn't take them (${why}).\n`;
  return { ...entry, stream: "note", text };
}

function codeOf(error: unknown): string {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return error instanceof Error ? error.message : String(error);
}
