import { stripEscapeSequences } from "../../text/escapeSequences.ts";

/** They are there, and nobody sees them: zero-width spaces, and a byte-order mark within a text. */
export const unseen = /[\u00ad\u200b\u2060\ufeff]/g;

/**
 * What a person reads of a program's output: without escape sequences and characters that nobody sees; of a line that was
 * overwritten, such as a progress bar, the last state. Lines end with `\n`.
 *
 * @param text of whole lines, but for the last.
 */
export function readableText(text: string): string {
  return text
    .split("\n")
    .map((line) => stripEscapeSequences(lastState(line)).replace(unseen, ""))
    .join("\n");
}

/** Of a line that was overwritten what follows its last carriage return, but for those at its end. */
export function lastState(line: string): string {
  const end = line.replace(/\r+$/, "");
  return end.slice(end.lastIndexOf("\r") + 1);
}
