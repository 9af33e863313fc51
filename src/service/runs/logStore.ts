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
