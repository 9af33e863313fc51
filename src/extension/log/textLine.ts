import { withoutSecret } from "../../client/service/foreignText.ts";
import { controlCharacters } from "../../contract/controlCharacters.ts";
import { defaultStyle, isSameStyle, parseSgr, type SgrStyle } from "../../contract/escapeSequences.ts";
import type { LogLine } from "../../contract/log.ts";
import { type FileLink, findFileLinks } from "./fileLinks.ts";

/** A line of the document that shows a log. Columns count UTF-16 units from 0, as the editor does. */
export interface TextLine {
  readonly text: string;
  readonly styles: readonly StyledRange[];
  readonly links: readonly TextLink[];
  /** Which stream of a step wrote it; undefined for what we say ourselves. */
  readonly stream?: string;
}

interface StyledRange {
  readonly start: number;
  readonly end: number;
  readonly style: SgrStyle;
}

type TextLink = FileLink | ArtifactLink;

/** Leads to something that a step kept, by the path of its URI. */
interface ArtifactLink {
  readonly kind: "kept";
  readonly start: number;
  readonly end: number;
  readonly path: string;
}

const none: readonly never[] = [];

/** A line of our own: pieces in one look each. */
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

/** The same line, further to the right. */
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

/** The looks of what we say ourselves. */
export const textStyles = {
  strong: style(undefined, "bold"),
  quiet: style(undefined, "dim"),
  good: style(2, "bold"),
  bad: style(1, "bold"),
  busy: style(4, "bold"),
  ended: style(3, "bold"),
} as const;

/**
 * Makes lines of the document from lines of a log: no escape sequence and no control character is in their text, and no API
 * key, which is looked for in what is seen, since what is taken out of its middle would join it again.
 */
export class LineMaker {
  readonly #apiKeys: ReadonlySet<string>;
  /** The look that a stream has begun and not ended, which goes on in its next line. */
  readonly #begun = new Map<string, SgrStyle>();

  /** @param apiKeys every key that the service was sent; one that is found later may be added. */
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

  /** A line that has no end yet, and will be made again. */
  begun(line: LogLine): TextLine {
    return this.#make(line, this.#begun.get(`${line.stepIndex} ${line.stream}`)).made;
  }

  #make(
    { text: written, stream }: LogLine,
    before: SgrStyle | undefined,
  ): { readonly made: TextLine; readonly after: SgrStyle } {
    // Most lines of most logs: nothing in them has to be looked at letter by letter.
    if (before === undefined && !special.test(written))
      return { made: this.#plain(written, stream), after: defaultStyle };
    const { pieces, after } = parseSgr(written, before);
    const seen = pieces.map(({ text }) => text).join("");
    const plain = this.#plain(seen, stream);
    // A key may have colours in its middle, so its line has none.
    return { made: plain.text === seen ? { ...plain, styles: looksOf(pieces) } : plain, after };
  }

  #plain(seen: string, stream: string): TextLine {
    let text = seen;
    for (const apiKey of this.#apiKeys) text = withoutSecret(text, apiKey);
    const links = mayNamePlace.test(text) ? findFileLinks(text) : none;
    return { text, styles: none, links: links.length === 0 ? none : links, stream };
  }
}

/** What stands in each place that a line may name. */
const mayNamePlace = /[:(/]/;
/** What a line may hold that must not be shown as it is. */
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
