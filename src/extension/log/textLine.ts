import { withoutSecret } from "../../client/service/foreignText.ts";
import type { LogLine } from "../../contract/log.ts";
import { controlCharacters } from "../../text/controlCharacters.ts";
import { defaultStyle, isSameStyle, parseSgr, type SgrStyle } from "../../text/escapeSequences.ts";
import { type FileLink, findFileLinks } from "./fileLinks.ts";

/** A line of a log's document. Columns count UTF-16 units from 0, as the editor does. */
export interface TextLine {
  readonly text: string;
  readonly styles: readonly StyledRange[];
  readonly links: readonly TextLink[];
  /** The step's stream that wrote it; undefined for the document's own lines. */
  readonly stream?: string;
}

interface StyledRange {
  readonly start: number;
  readonly end: number;
  readonly style: SgrStyle;
}

type TextLink =
  | FileLink
  /** Leads to a kept file, by the path of its URI. */
  | { readonly kind: "kept"; readonly start: number; readonly end: number; readonly path: string }
  /** Starts a new run at the step that failed. */
  | { readonly kind: "failed-step"; readonly start: number; readonly end: number };

const none: readonly never[] = [];

/** A line of the document itself, made of pieces in one style each. */
export function ownLine(
  ...pieces: readonly (string | { readonly text: string; readonly style: SgrStyle })[]
): TextLine {
  const styles: StyledRange[] = [];
  let text = "";
  for (const piece of pieces) {
    const start = text.length;
    text += typeof piece === "string" ? piece : piece.text;
    if (typeof piece !== "string" && piece.text !== "")
      styles.push({ start, end: text.length, style: piece.style });
  }
  return { text, styles, links: none };
}

export function indented(line: TextLine, by: string): TextLine {
  const moved = <T extends { readonly start: number; readonly end: number }>(range: T): T => ({
    ...range,
    start: range.start + by.length,
    end: range.end + by.length,
  });
  return { ...line, text: by + line.text, styles: line.styles.map(moved), links: line.links.map(moved) };
}

const style = (foreground: number | undefined, ...effects: ("bold" | "dim")[]): SgrStyle => ({
  foreground,
  background: undefined,
  effects: new Set(effects),
});

export const textStyles = {
  strong: style(undefined, "bold"),
  quiet: style(undefined, "dim"),
  good: style(2, "bold"),
  bad: style(1, "bold"),
  busy: style(4, "bold"),
  ended: style(3, "bold"),
} as const;

/**
 * Makes lines of the document from lines of a log, without escape sequences, control characters and API keys. Keys are searched
 * for in the visible text, since removing characters could restore a key.
 */
export class LineMaker {
  readonly #apiKeys: ReadonlySet<string>;
  /** The style that a stream has left open, which continues in its next line. */
  readonly #begun = new Map<string, SgrStyle>();

  /** @param apiKeys all keys that were sent to the service; more may be added. */
  constructor(apiKeys: ReadonlySet<string>) {
    this.#apiKeys = apiKeys;
  }

  whole(line: LogLine): TextLine {
    const key = `${line.stepIndex} ${line.stream}`;
    const { made, after } = this.#make(line, this.#begun.get(key));
    if (isSameStyle(after, defaultStyle)) this.#begun.delete(key);
    else this.#begun.set(key, after);
    return made;
  }

  /** An unfinished line, which will be made again. */
  begun(line: LogLine): TextLine {
    return this.#make(line, this.#begun.get(`${line.stepIndex} ${line.stream}`)).made;
  }

  #make(
    { text: written, stream }: LogLine,
    before: SgrStyle | undefined,
  ): { readonly made: TextLine; readonly after: SgrStyle } {
    // A fast path for most lines.
    if (before === undefined && !special.test(written))
      return { made: this.#plain(written, stream), after: defaultStyle };
    const { pieces, after } = parseSgr(written, before);
    const seen = pieces.map(({ text }) => text).join("");
    const plain = this.#plain(seen, stream);
    // A line with a key loses its colours, which may be within the key.
    return { made: plain.text === seen ? { ...plain, styles: looksOf(pieces) } : plain, after };
  }

  #plain(seen: string, stream: string): TextLine {
    let text = seen;
    for (const apiKey of this.#apiKeys) text = withoutSecret(text, apiKey);
    const links = mayNamePlace.test(text) ? findFileLinks(text) : none;
    return { text, styles: none, links: links.length === 0 ? none : links, stream };
  }
}

/** One of these characters is in each file link. */
const mayNamePlace = /[:(/]/;
/** Control characters, which aren't shown. */
const special = new RegExp(`(?!\\t)[${controlCharacters}]`, "u");

function looksOf(pieces: ReturnType<typeof parseSgr>["pieces"]): readonly StyledRange[] {
  const styles: StyledRange[] = [];
  let start = 0;
  for (const { text, style } of pieces) {
    const end = start + text.length;
    if (!isSameStyle(style, defaultStyle)) styles.push({ start, end, style });
    start = end;
  }
  return styles.length === 0 ? none : styles;
}
