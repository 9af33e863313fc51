/** A bash command line up to the cursor. */
export interface BashLine {
  /** The words before the one at the cursor, without quotes. */
  readonly before: readonly string[];
  /** The word at the cursor, without quotes. */
  readonly current: string;
  /** The part of the word that bash keeps and appends the completion to. */
  readonly prefix: string;
  /** The quote that is open at the cursor. */
  readonly quote: "" | "'" | '"';
}

/** What separates words in bash. A no-break space or a byte order mark does not. */
const blanks = " \t\n";

/**
 * Splits a line into words as bash does, without expansions. `COMP_WORDS` is no substitute: it also splits at colons and
 * equals signs, and keeps quotes.
 * @param breaks bash's `COMP_WORDBREAKS`: bash completes only what follows the last of these characters.
 */
export function readBashLine(line: string, breaks: string): BashLine {
  const before: string[] = [];
  let word: string | undefined;
  let prefix = "";
  let quote: BashLine["quote"] = "";
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at] ?? "";
    if (quote === "" && blanks.includes(character)) {
      if (word !== undefined) before.push(word);
      word = undefined;
      prefix = "";
      continue;
    }
    word ??= "";
    if (quote === "" && (character === "'" || character === '"')) {
      quote = character;
      prefix = word;
    } else if (character === quote) {
      quote = "";
    } else if (character === "\\" && quote !== "'") {
      at += 1;
      const next = line[at] ?? "";
      word += quote === '"' && !/["\\$`]/.test(next) ? `\\${next}` : next;
    } else {
      word += character;
      if (quote === "" && breaks.includes(character)) prefix = word;
    }
  }
  return { before, current: word ?? "", prefix, quote };
}

/** The text that bash inserts for a word, quoted like the word at the cursor. */
export function bashWord(word: string, { prefix, quote }: BashLine): string {
  const rest = word.startsWith(prefix) ? word.slice(prefix.length) : word;
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
