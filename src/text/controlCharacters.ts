/**
 * The characters to replace in foreign texts, for a character class of a regular expression (flag `u`): control characters, line
 * and paragraph separators, and those that change the writing direction; not the joiners of letters and emoji.
 */
export const controlCharacters = String.raw`\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f`;

const each = new RegExp(`[${controlCharacters}]`, "gu");

/** Makes a foreign text fit one line of a terminal: U+FFFD replaces each control character. */
export function replaceControlCharacters(text: string): string {
  return text.toWellFormed().replace(each, "\ufffd");
}

/** Escapes control characters in JSON, which allows most of a terminal's, so that the JSON can be read in one. */
export function escapeControlCharacters(json: string): string {
  return json.replace(each, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** An SGR sequence, a carriage return before a line feed, or any control character except line feed and tab. */
const unsafe = new RegExp(`\u001b\\[[0-9;:]*m|\\r(?=\\n)|(?![\\n\\t])[${controlCharacters}]`, "gu");

/** Most texts are ASCII, and this test is cheaper. */
const ascii = /^[\t\n -~]*$/;

/**
 * Replaces what controls a terminal, except line feeds and tabs. A second check: foreign texts are cleaned where they come in.
 * @param hasColor whether SGR sequences are kept.
 */
export function sanitizeForTerminal(text: string, hasColor: boolean): string {
  if (ascii.test(text)) return text;
  return text.replace(unsafe, (found) => {
    if (found === "\r") return "";
    return found.length === 1 ? "\ufffd" : hasColor ? found : "";
  });
}

/** In characters. Bounds the work for an endless name. */
const mostLookedAt = 600;
const notInName = new RegExp(`[${controlCharacters}\\s/\\\\:*?"<>|%#]+`, "gu");

/**
 * Turns a foreign name into a file name that is valid on every system and is neither hidden nor an option; it may be empty.
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
