/**
 * The characters that are replaced in foreign texts, for a regular expression's class (flag `u`): control characters, line
 * and paragraph separators, and those that change the direction of writing; not the joiners of letters and emoji.
 */
export const controlCharacters = String.raw`\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f`;

const each = new RegExp(`[${controlCharacters}]`, "gu");

/** A foreign text for one line of a terminal: U+FFFD stands for each control character. */
export function replaceControlCharacters(text: string): string {
  return text.toWellFormed().replace(each, "\ufffd");
}

/** An SGR sequence, a carriage return before a line feed, or a control character but line feed and tab. */
const unsafe = new RegExp(`\u001b\\[[0-9;:]*m|\\r(?=\\n)|(?![\\n\\t])[${controlCharacters}]`, "gu");

/** Most texts are ASCII, and this test is the cheaper one. */
const ascii = /^[\t\n -~]*$/;

/**
 * Replaces what drives a terminal, except line feeds and tabs. A second check: foreign texts are cleaned where they come in.
 * @param hasColor whether SGR sequences stay too.
 */
export function sanitizeForTerminal(text: string, hasColor: boolean): string {
  if (ascii.test(text)) return text;
  return text.replace(unsafe, (found) => {
    if (found === "\r") return "";
    return found.length === 1 ? "\ufffd" : hasColor ? found : "";
  });
}

/** In characters: enough of an endless name. */
const mostLookedAt = 600;
const notInName = new RegExp(`[${controlCharacters}\\s/\\\\:*?"<>|%#]+`, "gu");

/**
 * A foreign name as that of one file on any system, where it is no hidden file and no option; it may be empty.
 * @param longest in UTF-16 units.
 */
export function asFileName(name: string, longest = mostLookedAt): string {
  return name
    .slice(0, mostLookedAt)
    .replace(notInName, "-")
    .replace(/^[-.]+|[-.]+$/g, "")
    .slice(0, longest)
    .toWellFormed();
}
