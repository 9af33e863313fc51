import { withoutSecret } from "../../client/http/foreignText.ts";
import { type AnsiStyle, isSameStyle, plainStyle, readAnsi } from "../../contract/ansi.ts";
import { unshown } from "../../contract/unshown.ts";
import type { WholeLine } from "../../contract/wholeLines.ts";
import { placeLinks } from "./placeLinks.ts";
import { type Look, none, type TextLine } from "./textLine.ts";

/**
 * Makes lines of the document from lines of a log: no escape sequence and no control character is in their text, and no API
 * key, which is looked for in what is seen, since what is taken out of its middle would join it again.
 */
export class LineMaker {
  readonly #apiKeys: ReadonlySet<string>;
  /** The look that a stream has begun and not ended, which goes on in its next line. */
  readonly #begun = new Map<string, AnsiStyle>();

  /** @param apiKeys every key that the service was sent; one that is found later may be added. */
  constructor(apiKeys: ReadonlySet<string>) {
    this.#apiKeys = apiKeys;
  }

  whole(line: WholeLine): TextLine {
    const key = `${line.stepIndex} ${line.stream}`;
    const { made, after } = this.#make(line, this.#begun.get(key));
    if (isSameStyle(after, plainStyle)) this.#begun.delete(key);
    else this.#begun.set(key, after);
    return made;
  }

  /** A line that has no end yet, and will be made again. */
  begun(line: WholeLine): TextLine {
    return this.#make(line, this.#begun.get(`${line.stepIndex} ${line.stream}`)).made;
  }

  #make(
    { text: written, stream }: WholeLine,
    before: AnsiStyle | undefined,
  ): { readonly made: TextLine; readonly after: AnsiStyle } {
    // Most lines of most logs: nothing in them has to be looked at letter by letter.
    if (before === undefined && !special.test(written))
      return { made: this.#plain(written, stream), after: plainStyle };
    const { pieces, after } = readAnsi(written, before);
    const seen = pieces.map(({ text }) => text).join("");
    const plain = this.#plain(seen, stream);
    // A key may have colours in its middle, so its line has none.
    return { made: plain.text === seen ? { ...plain, looks: looksOf(pieces) } : plain, after };
  }

  #plain(seen: string, stream: string): TextLine {
    let text = seen;
    for (const apiKey of this.#apiKeys) text = withoutSecret(text, apiKey);
    const links = mayNamePlace.test(text) ? placeLinks(text) : none;
    return { text, looks: none, links: links.length === 0 ? none : links, stream };
  }
}

/** What stands in each place that a line may name. */
const mayNamePlace = /[:(/]/;
/** What a line may hold that must not be shown as it is. */
const special = new RegExp(`(?!\\t)[${unshown}]`, "u");

function looksOf(pieces: ReturnType<typeof readAnsi>["pieces"]): readonly Look[] {
  const looks: Look[] = [];
  let start = 0;
  for (const { text, style } of pieces) {
    const end = start + text.length;
    if (!isSameStyle(style, plainStyle)) looks.push({ start, end, style });
    start = end;
  }
  return looks.length === 0 ? none : looks;
}
