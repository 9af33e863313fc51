import * as z from "zod/mini";
import { instant } from "./fields.ts";

/**
 * An entry of a run's log (contract: "Endpoints"). `sequence` counts from 1 within the run, without gaps; `stepIndex` counts from
 * 0. `stream` is `stdout`, `stderr`, or `note` for messages of the runner and the service. The joined texts of a step's stream
 * are its output, byte for byte.
 */
export const logEntrySchema = z.object({
  sequence: z.int().check(z.positive()),
  at: instant,
  stepIndex: z.int().check(z.nonnegative()),
  stream: z.string(),
  text: z.string(),
});

export type LogEntry = z.infer<typeof logEntrySchema>;

/** A line of a run's log as the program wrote it, including escape sequences. */
export interface LogLine {
  /** Unique within the log, and unchanged while the line grows. */
  readonly id: string;
  readonly stepIndex: number;
  readonly stream: string;
  /** The time of its first entry, RFC 3339. */
  readonly at: string;
  /** Without its line end. */
  readonly text: string;
}

interface Pending extends LogLine {
  text: string;
}

/** In characters. A longer line is split, so that output without line breaks is shown too. */
const longestPending = 64 * 1024;
/** The most unfinished lines kept: a service may name a new stream in every entry. */
const mostPending = 32;

/**
 * Assembles lines from a log's entries, which are pieces of several streams' output, so that lines of two streams never mix. Of a
 * line with carriage returns, such as a progress bar, only the last part is kept.
 */
export class LineAssembler {
  readonly #pending = new Map<string, Pending>();

  /** The lines that this entry completes. */
  add({ sequence, stepIndex, stream, at, text }: LogEntry): LogLine[] {
    const lines = this.#flush(
      (other) => other.stepIndex < stepIndex || precedesNote(other, stepIndex, stream),
    );
    const key = `${stepIndex} ${stream}`;
    const pieces = text.split("\n");
    for (const [index, piece] of pieces.entries()) {
      const id = `${sequence}-${index}`;
      const pending = this.#pending.get(key) ?? { id, stepIndex, stream, at, text: "" };
      pending.text += piece;
      const isWhole = index < pieces.length - 1;
      if (isWhole || pending.text.length > longestPending) {
        this.#pending.delete(key);
        lines.push(lineOf(pending));
      } else if (pending.text !== "") this.#pending.set(key, pending);
    }
    if (this.#pending.size > mostPending) lines.push(...this.#flushOldest());
    return lines;
  }

  /** The unfinished lines, which stay pending. */
  begun(): LogLine[] {
    return [...this.#pending.values()].map(lineOf);
  }

  /** The unfinished lines, once the log has ended. */
  rest(): LogLine[] {
    return this.#flush(() => true);
  }

  #flushOldest(): LogLine[] {
    const [oldest] = this.#pending.values();
    return this.#flush((pending) => pending === oldest);
  }

  #flush(isOver: (pending: Pending) => boolean): LogLine[] {
    const over = [...this.#pending].filter(([, pending]) => isOver(pending));
    return over.map(([key, pending]) => {
      this.#pending.delete(key);
      return lineOf(pending);
    });
  }
}

/** A note refers to the earlier output of its step, so that output goes first. */
function precedesNote(other: Pending, stepIndex: number, stream: string): boolean {
  return stream === "note" && other.stream !== "note" && other.stepIndex === stepIndex;
}

function lineOf({ text, ...others }: Pending): LogLine {
  // Not `/\r+$/`, which is quadratic in the carriage returns that a program may print by the million.
  let end = text.length;
  while (text.charAt(end - 1) === "\r") end -= 1;
  return { ...others, text: text.slice(text.lastIndexOf("\r", end - 1) + 1, end) };
}
