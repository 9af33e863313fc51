import { stripEscapeSequences } from "../../text/escapeSequences.ts";

/** A pattern of what is there and nobody sees: soft hyphens, zero-width spaces, and a byte-order mark within a text. */
export const invisible = "[\\u00ad\\u200b\\u2060\\ufeff]";

const allInvisible = new RegExp(invisible, "g");

export function withoutInvisible(text: string): string {
  return text.replace(allInvisible, "");
}

/**
 * What a person reads of a program's output: without escape sequences and characters that nobody sees; of a line that was
 * overwritten, such as a progress bar, the last state. Lines end with `\n`.
 *
 * @param text of whole lines, but for the last.
 */
export function readableText(text: string): string {
  return text
    .split("\n")
    .map((line) => withoutInvisible(stripEscapeSequences(lastState(line))))
    .join("\n");
}

/** Of a line that was overwritten what follows its last carriage return, but for those at its end. */
export function lastState(line: string): string {
  const end = line.replace(/\r+$/, "");
  return end.slice(end.lastIndexOf("\r") + 1);
}

/** Truncates a text to one line. It must be masked before: a cut could leave half of a secret. */
export function shorten(masked: string, most: number): string {
  const line = masked.replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most)}…` : line;
}
