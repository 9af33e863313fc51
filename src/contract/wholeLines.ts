import type { LogEntry } from "./logEntry.ts";

/** A line of a run's log, as the program wrote it: it may hold what would drive a terminal. */
export interface WholeLine {
  readonly stepIndex: number;
  readonly stream: string;
  /** When its first piece came, RFC 3339. */
  readonly at: string;
  /** Without its line end. */
  readonly text: string;
}

interface Pending {
  readonly stepIndex: number;
  readonly stream: string;
  readonly at: string;
  text: string;
}

/** A line that goes on for longer, in characters, is told in pieces, so that what never ends a line is told at all. */
const longestPending = 64 * 1024;
/** So many lines may be begun at once. Programs have a few streams; what names a new one for each piece must cost no more. */
const mostPending = 32;

/**
 * Makes lines of a log's entries, which are pieces of the output of several programs: a line is whole before it is told,
 * so that two programs' lines never mix. After a carriage return the last that was written stays, as a progress bar means it.
 */
export class WholeLines {
  readonly #pending = new Map<string, Pending>();

  /** The lines that are whole with this entry. */
  add({ stepIndex, stream, at, text }: LogEntry): WholeLine[] {
    const lines = this.#flush((other) => other.stepIndex < stepIndex || isSpokenOf(other, stepIndex, stream));
    const key = `${stepIndex} ${stream}`;
    const pieces = text.split("\n");
    for (const [index, piece] of pieces.entries()) {
      const pending = this.#pending.get(key) ?? { stepIndex, stream, at, text: "" };
      pending.text += piece;
      const isWhole = index < pieces.length - 1;
      if (isWhole || pending.text.length > longestPending) {
        this.#pending.delete(key);
        lines.push(toldLine(pending));
      } else if (pending.text !== "") this.#pending.set(key, pending);
    }
    if (this.#pending.size > mostPending) lines.push(...this.#tellOldest());
    return lines;
  }

  /** What came without a line end so far, which goes on being held. */
  begun(): WholeLine[] {
    return [...this.#pending.values()].map(toldLine);
  }

  /** What came without a line end, once nothing comes any more. */
  rest(): WholeLine[] {
    return this.#flush(() => true);
  }

  /** Takes the line that was begun first for whole. */
  #tellOldest(): WholeLine[] {
    const [oldest] = this.#pending.values();
    return this.#flush((pending) => pending === oldest);
  }

  #flush(isOver: (pending: Pending) => boolean): WholeLine[] {
    const over = [...this.#pending].filter(([, pending]) => isOver(pending));
    return over.map(([key, pending]) => {
      this.#pending.delete(key);
      return toldLine(pending);
    });
  }
}

/** A note says something of what its step has written before. */
function isSpokenOf(other: Pending, stepIndex: number, stream: string): boolean {
  return stream === "note" && other.stream !== "note" && other.stepIndex === stepIndex;
}

function toldLine({ text, ...others }: Pending): WholeLine {
  // No pattern: one for the end of a text tries at each of the carriage returns that a program may print by the million.
  let end = text.length;
  while (text.charAt(end - 1) === "\r") end -= 1;
  return { ...others, text: text.slice(text.lastIndexOf("\r", end - 1) + 1, end) };
}
