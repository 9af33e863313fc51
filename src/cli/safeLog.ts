import { withoutSecret } from "../client/http/foreignText.ts";
import type { LogEntry } from "../contract/logEntry.ts";
import { unshown } from "../contract/unshown.ts";

/** A line of a run's log, fit to be shown on a terminal. */
export interface LogLine {
  readonly stepIndex: number;
  readonly stream: string;
  /** When its first piece came, RFC 3339. */
  readonly at: string;
  /** Without its line end. Colours are whole: none that was begun goes on behind it. */
  readonly text: string;
}

export interface LogLinesOptions {
  readonly hasColor: boolean;
  /** Every API key that the service was sent, which no line may repeat; one that is found later may be added. */
  readonly apiKeys: ReadonlySet<string>;
}

interface Pending {
  readonly stepIndex: number;
  readonly stream: string;
  readonly at: string;
  text: string;
}

/** A line that goes on for longer, in characters, is shown in pieces, so that what never ends a line is shown at all. */
const longestPending = 64 * 1024;

/**
 * Makes lines of a log's entries, which are pieces of the output of several programs: a line is whole before it is told,
 * so that two programs' lines never mix, and nothing that a hostile program wrote can drive the terminal. What would move
 * the cursor, set a title or a clipboard, or turn the direction of writing is left out; after a carriage return the last
 * that was written stays, as a progress bar means it. Colours stay where they are wanted. An API key is looked for in what
 * is seen of a whole line, since what is taken out of its middle, or the next entry, would join it again.
 */
export class LogLines {
  readonly #options: LogLinesOptions;
  readonly #pending = new Map<string, Pending>();
  /** The colours that a stream has begun and not ended, which go on in its next line. */
  readonly #begun = new Map<string, string>();

  constructor(options: LogLinesOptions) {
    this.#options = options;
  }

  /** The lines that are whole with this entry. */
  add({ stepIndex, stream, at, text }: LogEntry): LogLine[] {
    const lines = this.#flush((other) => other.stepIndex < stepIndex || isSpokenOf(other, stepIndex, stream));
    const key = `${stepIndex} ${stream}`;
    const pieces = text.split("\n");
    for (const [index, piece] of pieces.entries()) {
      const pending = this.#pending.get(key) ?? { stepIndex, stream, at, text: "" };
      pending.text += piece;
      const isWhole = index < pieces.length - 1;
      if (isWhole || pending.text.length > longestPending) {
        this.#pending.delete(key);
        lines.push(this.#line(key, pending));
      } else if (pending.text !== "") this.#pending.set(key, pending);
    }
    return lines;
  }

  /** What came without a line end, once nothing comes any more. */
  rest(): LogLine[] {
    return this.#flush(() => true);
  }

  #flush(isOver: (pending: Pending) => boolean): LogLine[] {
    const over = [...this.#pending].filter(([, pending]) => isOver(pending));
    return over.map(([key, pending]) => {
      this.#pending.delete(key);
      return this.#line(key, pending);
    });
  }

  #line(key: string, { text, ...others }: Pending): LogLine {
    const last = asLastWritten(text);
    const seen = withoutSequences(last);
    const plain = this.#withoutKeys(seen);
    if (!this.#options.hasColor) return { ...others, text: plain };
    const { shown, begun } = withColors(last, this.#begun.get(key) ?? "");
    this.#begun.set(key, begun);
    // A key may have colours in its middle, so its line has none.
    return { ...others, text: plain === seen ? shown : plain };
  }

  #withoutKeys(text: string): string {
    return [...this.#options.apiKeys].reduce(withoutSecret, text);
  }
}

/** A note says something of what its step has written before. */
function isSpokenOf(other: Pending, stepIndex: number, stream: string): boolean {
  return stream === "note" && other.stream !== "note" && other.stepIndex === stepIndex;
}

function asLastWritten(text: string): string {
  const shown = text.replace(/\r+$/, "");
  return shown.slice(shown.lastIndexOf("\r") + 1);
}

const esc = "\u001b";
/** Whatever a terminal obeys; the first group holds the parameters of a colour or another look of letters. */
const sequences = new RegExp(
  [
    `(?:${esc}\\[|\u009b)([0-9;:]{0,40})m`,
    `(?:${esc}\\[|\u009b)[0-?]*[ -/]*[@-~]?`,
    `(?:${esc}[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u009c${esc}]*(?:\u0007|\u009c|${esc}\\\\)?`,
    `${esc}[ -/]*[0-~]?`,
    `(?!\\t)[${unshown}]`,
  ].join("|"),
  "gu",
);

/** The text with nothing in it that a terminal would obey; tabs stay. */
function withoutSequences(text: string): string {
  return text.replace(sequences, "");
}

/** How many characters of colours may be open at the end of a line: those of a program, not an endless pile. */
const mostBegun = 200;

function withColors(text: string, before: string): { readonly shown: string; readonly begun: string } {
  let begun = before;
  const shown = text.replace(sequences, (_, parameters: string | undefined) => {
    if (parameters === undefined || hides(parameters)) return "";
    const color = `${esc}[${parameters}m`;
    const isReset = /^[0;]*$/.test(parameters);
    begun = isReset ? "" : `${begun}${color}`;
    if (begun.length > mostBegun) begun = color;
    return color;
  });
  const whole = `${before}${shown}`;
  return { shown: whole.includes(esc) && begun !== "" ? `${whole}${esc}[0m` : whole, begun };
}

/** Whether letters would be there and not be seen, which a log has no reason for. */
function hides(parameters: string): boolean {
  const withoutPalette = parameters.replace(/[345]8[;:](?:5[;:]\d*|2(?:(?:;\d*){3}|(?::\d*){3,4}))/g, "");
  return withoutPalette.split(/[;:]/).some((code) => Number(code) === 8 && code !== "");
}
