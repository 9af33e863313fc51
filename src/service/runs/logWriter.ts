import { constants } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { describeError } from "../../contract/errors.ts";
import type { LogEntry } from "../../contract/log.ts";
import { toWire } from "../../contract/wire.ts";
import { codeOf, ifThere } from "../../project/systemErrors.ts";
import { readLogLine } from "./logStore.ts";

export type NewEntry = Omit<LogEntry, "sequence">;

/** The complete part of a log's file. */
interface LogExtent {
  readonly bytes: number;
  readonly entries: number;
}

export const emptyLog: LogExtent = { bytes: 0, entries: 0 };

interface LogWriterDeps {
  /** Called when there is more to read. */
  readonly onGrown: () => void;
  /** Called when writing begins to fail. */
  readonly onError: (error: unknown) => void;
  readonly open?: (file: string, flags: number, mode: number) => Promise<FileHandle>;
}

/** The most that is written at once, in characters. */
const longestBatch = 512 * 1024;

/**
 * Appends entries to a run's log in order. Those that come while a write goes on are written together, with one sync. A
 * full disk costs entries, never the run: a note in the log says how many, as soon as it can be written.
 */
export class LogWriter {
  readonly #file: string;
  readonly #deps: LogWriterDeps;
  readonly #pending: NewEntry[] = [];
  #extent: LogExtent;
  #handle: FileHandle | undefined;
  #writing: Promise<void> | undefined;
  /** Whether the file may have part of a failed write after the extent. */
  #isTorn = false;
  /** The entries lost since the last successful write, and the last of them. */
  #lost = 0;
  #lastLost: { readonly entry: NewEntry; readonly why: string } | undefined;

  /** @param extent what the file has. The file is created by the first write. */
  constructor(file: string, extent: LogExtent, deps: LogWriterDeps) {
    this.#file = file;
    this.#extent = extent;
    this.#deps = deps;
  }

  /** What may be read now. It never changes. */
  get extent(): LogExtent {
    return this.#extent;
  }

  append(entry: NewEntry): void {
    this.#pending.push(entry);
    this.#writing ??= this.#write();
  }

  /** Resolves when all entries so far are written or lost. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  /** Resolves when all entries are written or lost. Nothing may be appended afterwards. */
  async complete(): Promise<void> {
    await this.settled();
    if (this.#lost > 0) await this.#put([]);
    await this.#handle?.close().catch(() => {});
    this.#handle = undefined;
  }

  async #write(): Promise<void> {
    try {
      // Entries of the same moment are written together.
      await undefined;
      while (this.#pending.length > 0) {
        let length = 0;
        const batch = this.#pending.findIndex(({ text }) => {
          length += text.length;
          return length > longestBatch;
        });
        await this.#put(this.#pending.splice(0, batch === -1 ? this.#pending.length : batch + 1));
      }
    } finally {
      // Synchronously with the last check: an entry of the next microtask has to start a new write.
      this.#writing = undefined;
    }
  }

  async #put(batch: readonly NewEntry[]): Promise<void> {
    const entries =
      this.#lastLost === undefined ? batch : [missingNote(this.#lost, this.#lastLost), ...batch];
    const first = this.#extent.entries + 1;
    const lines = entries.map((entry, index) =>
      JSON.stringify(toWire({ sequence: first + index, ...entry })),
    );
    const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
    try {
      await this.#writeBytes(bytes);
    } catch (error) {
      if (this.#lost === 0) this.#deps.onError(error);
      const entry = batch.at(-1) ?? this.#lastLost?.entry;
      this.#lost += batch.length;
      if (entry !== undefined) this.#lastLost = { entry, why: codeOf(error) ?? describeError(error) };
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
    // Before anyone reads it: a power cut must not give a sequence number to another entry.
    await this.#handle.datasync();
    this.#isTorn = false;
  }

  async #open(): Promise<FileHandle> {
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    return (this.#deps.open ?? open)(this.#file, constants.O_RDWR | constants.O_CREAT, 0o600);
  }
}

function missingNote(count: number, { entry, why }: { entry: NewEntry; why: string }): NewEntry {
  const what = count === 1 ? "1 entry is" : `${count} entries are`;
  const text = `The log is incomplete: ${what} missing here, since the disk didn't take them (${why}).\n`;
  return { ...entry, stream: "note", text };
}

const pieceSize = 256 * 1024;
const lineEnd = 10;

/**
 * Cuts off the incomplete end of a log whose service has died, so that its sequence numbers have no gap.
 * @returns what the file has then, and its last entry.
 * @throws the file system's error, except for a missing file: that log is empty.
 */
export async function mendLog(file: string) {
  await using handle = await ifThere(open(file, "r+"));
  if (handle === undefined) return { extent: emptyLog, last: undefined };
  for (const ends = await lineEnds(handle); ; ends.pop()) {
    const [start = 0, bytes = 0] = [ends.at(-2), ends.at(-1)];
    const last = bytes === 0 ? undefined : await entryAt(handle, start, bytes);
    // After a power cut the last lines may be there without their content.
    if (bytes > 0 && last?.sequence !== ends.length) continue;
    await handle.truncate(bytes);
    return { extent: { bytes, entries: ends.length }, last };
  }
}

/** The position after each line, in order. */
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
  return readLogLine(bytes.toString("utf8"))[0];
}
