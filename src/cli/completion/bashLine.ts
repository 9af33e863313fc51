/** A command line of bash, as far as the cursor. */
export interface BashLine {
  /** The words before the one at the cursor, without quotes. */
  readonly before: readonly string[];
  /** The word at the cursor, without quotes. */
  readonly current: string;
  /** What of it bash leaves where it is, and puts a completion behind. */
  readonly kept: string;
  /** The quote that is open at the cursor. */
  readonly quote: "" | "'" | '"';
}

/** What parts words for bash. A space that doesn't break, or a mark at a text's beginning, is a letter to it. */
const blanks = " \t\n";

/**
 * Takes a line apart as bash does. Its own `COMP_WORDS` would be split at colons and equals signs as well, and what
 * stands in quotes is left in them. Nothing is expanded.
 * @param breaks bash's `COMP_WORDBREAKS`: it completes what stands behind the last of them.
 */
export function readBashLine(line: string, breaks: string): BashLine {
  const before: string[] = [];
  let word: string | undefined;
  let kept = "";
  let quote: BashLine["quote"] = "";
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at] ?? "";
    if (quote === "" && blanks.includes(character)) {
      if (word !== undefined) before.push(word);
      word = undefined;
      kept = "";
      continue;
    }
    word ??= "";
    if (quote === "" && (character === "'" || character === '"')) {
      quote = character;
      kept = word;
    } else if (character === quote) {
      quote = "";
    } else if (character === "\\" && quote !== "'") {
      at += 1;
      const next = line[at] ?? "";
      word += quote === '"' && !/["\\$`]/.test(next) ? `\\${next}` : next;
    } else {
      word += character;
      if (quote === "" && breaks.includes(character)) kept = word;
    }
  }
  return { before, current: word ?? "", kept, quote };
}

/** A word as bash is to put it in the place of what it completes: quoted as the word at the cursor is. */
export function bashWord(word: string, { kept, quote }: BashLine): string {
  const rest = word.startsWith(kept) ? word.slice(kept.length) : word;
  switch (quote) {
    case "'":
      return rest.replaceAll("'", "'\\''");
    case '"':
      return rest.replace(/["\\$`]/g, "\\$&");
    case "":
      return rest.replace(/[^\w@%+=:,./\u0080-\u{10ffff}-]/gu, "\\$&");
    default:
      return quote satisfies never;
  }
}
