import { type LogEntry, logEntrySchema } from "../../contract/logEntry.ts";
import { fromWire } from "../../contract/wire.ts";
import type { Log } from "../log.ts";
import { LogReader } from "./logReader.ts";
import { emptyLog, LogWriter, type NewEntry } from "./logWriter.ts";
import { mendLog } from "./mendLog.ts";
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

export interface LogPage {
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
