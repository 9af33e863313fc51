import { LineAssembler, type LogEntry, type LogLine } from "../../contract/log.ts";
import { escapeSequences, stripEscapeSequences } from "../../text/escapeSequences.ts";
import { withoutSecret } from "../service/foreignText.ts";

export interface TerminalLinesOptions {
  readonly hasColor: boolean;
  /** The keys to mask; more may be added later. */
  readonly apiKeys: ReadonlySet<string>;
}

/**
 * Assembles log lines that are safe on a terminal: escape sequences are dropped, except colours if wanted, and each line resets
 * its own colours. API keys are masked in the visible text of a whole line, so that neither a removed sequence nor the next entry
 * can join the parts of one.
 */
export class TerminalLines {
  readonly #options: TerminalLinesOptions;
  readonly #whole = new LineAssembler();
  /** By stream: the colours in effect at the end of its last line. */
  readonly #begun = new Map<string, string>();

  constructor(options: TerminalLinesOptions) {
    this.#options = options;
  }

  /** The lines that this entry completes. */
  add(entry: LogEntry): LogLine[] {
    return this.#whole.add(entry).map((line) => this.#safe(line));
  }

  /** The unfinished lines, once the log has ended. */
  rest(): LogLine[] {
    return this.#whole.rest().map((line) => this.#safe(line));
  }

  #safe({ text, ...others }: LogLine): LogLine {
    const key = `${others.stepIndex} ${others.stream}`;
    const seen = stripEscapeSequences(text);
    const plain = this.#withoutKeys(seen);
    if (!this.#options.hasColor) return { ...others, text: plain };
    const { shown, begun } = withColors(text, this.#begun.get(key) ?? "");
    this.#begun.set(key, begun);
    // Colours may split a key, so a line with a masked key is shown without colours.
    return { ...others, text: plain === seen ? shown : plain };
  }

  #withoutKeys(text: string): string {
    return [...this.#options.apiKeys].reduce(withoutSecret, text);
  }
}

/** In characters: the most SGR sequences that carry over to the next line. */
const mostBegun = 200;
const esc = "\u001b";

function withColors(text: string, before: string): { readonly shown: string; readonly begun: string } {
  let begun = before;
  const shown = text.replace(escapeSequences, (_, parameters: string | undefined) => {
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

/** Whether an SGR sequence makes text invisible (code 8), which is never useful in a log. */
function hides(parameters: string): boolean {
  const withoutPalette = parameters.replace(/[345]8[;:](?:5[;:]\d*|2(?:(?:;\d*){3}|(?::\d*){3,4}))/g, "");
  return withoutPalette.split(/[;:]/).some((code) => Number(code) === 8 && code !== "");
}
