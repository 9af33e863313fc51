import { EventEmitter } from "node:events";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../../machine/log.ts";
import { ifThere } from "../../project/systemErrors.ts";
import {
  LineReader,
  type LogReader,
  type LogStore,
  type LogTail,
  type OpenArtifact,
  tailBytes,
  tailOf,
} from "./logStore.ts";
import { emptyLog, LogWriter, mendLog, type NewEntry } from "./logWriter.ts";

interface RunLogsDeps {
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

/** The logs of the runs: each is written while its run is active, and read at any time. */
export class RunLogs implements LogStore {
  readonly #deps: RunLogsDeps;
  readonly #open = new Map<string, LogWriter>();
  /** Emits an event named by a run's id when the run's log changes. */
  readonly #changes = new EventEmitter().setMaxListeners(0);

  constructor(deps: RunLogsDeps) {
    this.#deps = deps;
  }

  begin(runId: string): OpenLog {
    const writer = new LogWriter(this.#file(runId), emptyLog, this.#writing(runId));
    this.#open.set(runId, writer);
    this.#changes.emit(runId);
    return {
      append: (entry) => writer.append(entry),
      complete: () => writer.complete(),
      end: () => {
        this.#open.delete(runId);
        this.#changes.emit(runId);
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

  isOpen(runId: string): boolean {
    return this.#open.has(runId);
  }

  async reader(runId: string): Promise<LogReader> {
    return fileReader(this.#file(runId), () => this.#readable(runId));
  }

  tail(runId: string): Promise<LogTail> {
    return readTail(this.#file(runId), this.#readable(runId));
  }

  async openArtifact(runId: string, file: string): Promise<OpenArtifact | undefined> {
    const handle = await ifThere(open(join(runFolder(this.#deps.folder, runId).artifacts, file)));
    if (handle === undefined) return undefined;
    const { size } = await handle.stat();
    return {
      size,
      stream: () => handle.readableWebStream({ autoClose: true }),
      close: () => handle.close(),
    };
  }

  subscribe(runId: string, listener: () => void): () => void {
    this.#changes.on(runId, listener);
    return () => void this.#changes.off(runId, listener);
  }

  /** The bytes of the log's file that may be read; undefined for all, once the log is complete. */
  #readable(runId: string): number | undefined {
    return this.#open.get(runId)?.extent.bytes;
  }

  #writing(runId: string) {
    return {
      onGrown: () => void this.#changes.emit(runId),
      onError: (error: unknown) => this.#deps.log("error", "log not written", { runId, error }),
    };
  }

  #file(runId: string): string {
    return runFolder(this.#deps.folder, runId).log;
  }
}

const chunkBytes = 64 * 1024;

/**
 * Reads a log's file chunk by chunk from its beginning. Throws the file system's error, except for a file that does not exist.
 * @param readable how many bytes of the file may be read now; undefined for all.
 */
export function fileReader(file: string, readable: () => number | undefined = () => undefined): LogReader {
  let handle: FileHandle | undefined;
  let isDisposed = false;

  const opened = async (): Promise<FileHandle | undefined> => {
    if (isDisposed || handle !== undefined) return handle;
    const opening = await ifThere(open(file));
    // Disposed while the file was being opened.
    if (isDisposed) await opening?.close();
    else handle = opening;
    return handle;
  };

  const bytesAt = async (position: number, length: number): Promise<Buffer> => {
    const from = await opened();
    if (from === undefined) return Buffer.alloc(0);
    const { buffer, bytesRead } = await from.read(Buffer.allocUnsafe(length), 0, length, position);
    return buffer.subarray(0, bytesRead);
  };

  const lines = new LineReader(chunkBytes, bytesAt);
  return {
    next: (after) => lines.next(after, readable()),
    async [Symbol.asyncDispose]() {
      isDisposed = true;
      const held = handle;
      handle = undefined;
      await held?.close();
    },
  };
}

/** @param until where the readable part of the file ends, in bytes; undefined for all of it. */
async function readTail(file: string, until: number | undefined): Promise<LogTail> {
  await using handle = await ifThere(open(file));
  if (handle === undefined) return { entries: [], isWhole: true };
  const end = until ?? (await handle.stat()).size;
  const start = Math.max(0, end - tailBytes);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(end - start), 0, end - start, start);
  return tailOf(buffer.subarray(0, bytesRead), start === 0);
}

/**
 * Where a run's log and artifacts lie in the service's data folder; made when there is something to put there. The log has one
 * JSON line per entry, see `contract/log.ts`.
 * @param runId one of the store's own, so that it is a plain name.
 */
export function runFolder(dataFolder: string, runId: string) {
  const path = join(runsFolder(dataFolder), runId);
  return { path, log: join(path, "log.ndjson"), artifacts: join(path, "artifacts") };
}

/** The folder of all runs' folders, each named by its run's id. */
export function runsFolder(dataFolder: string): string {
  return join(dataFolder, "runs");
}
