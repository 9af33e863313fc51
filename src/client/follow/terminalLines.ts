import { escapeSequences, stripEscapeSequences } from "../../contract/escapeSequences.ts";
import { LineAssembler, type LogEntry, type LogLine } from "../../contract/log.ts";
import { withoutSecret } from "../service/foreignText.ts";

export interface TerminalLinesOptions {
  readonly hasColor: boolean;
  /** Every API key that the service was sent, which no line may repeat; one that is found later may be added. */
  readonly apiKeys: ReadonlySet<string>;
}

/**
 * Makes whole lines of a log's entries, so that nothing that a hostile program wrote can drive the terminal. What would move
 * the cursor, set a title or a clipboard, or turn the direction of writing is left out. Colours stay where they are wanted.
 * An API key is looked for in what is seen of a whole line, since what is taken out of its middle, or the next entry, would
 * join it again.
 */
export class TerminalLines {
  readonly #options: TerminalLinesOptions;
  readonly #whole = new LineAssembler();
  /** The colours that a stream has begun and not ended, which go on in its next line. */
  readonly #begun = new Map<string, string>();

  constructor(options: TerminalLinesOptions) {
    this.#options = options;
  }

  /** The lines that are whole with this entry. */
  add(entry: LogEntry): LogLine[] {
    return this.#whole.add(entry).map((line) => this.#safe(line));
  }

  /** What came without a line end, once nothing comes any more. */
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
    // A key may have colours in its middle, so its line has none.
    return { ...others, text: plain === seen ? shown : plain };
  }

  #withoutKeys(text: string): string {
    return [...this.#options.apiKeys].reduce(withoutSecret, text);
  }
}

/** How many characters of colours may be open at the end of a line: those of a program, not an endless pile. */
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

/** Whether letters would be there and not be seen, which a log has no reason for. */
function hides(parameters: string): boolean {
  const withoutPalette = parameters.replace(/[345]8[;:](?:5[;:]\d*|2(?:(?:;\d*){3}|(?::\d*){3,4}))/g, "");
  return withoutPalette.split(/[;:]/).some((code) => Number(code) === 8 && code !== "");
}
