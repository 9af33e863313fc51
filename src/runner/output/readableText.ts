import { escapeSequences } from "../../text/escapeSequences.ts";

/** A pattern of invisible characters: soft hyphens, zero-width spaces, and a byte-order mark within a text. */
export const invisible = "[\\u00ad\\u200b\\u2060\\ufeff]";

const allInvisible = new RegExp(invisible, "g");

export function withoutInvisible(text: string): string {
  return text.replace(allInvisible, "");
}

const esc = "\u001b";

/** What moves to the beginning of the line, as `\r` does: progress bars in Node.js use it. */
const toLineStart = new RegExp(`(?:${esc}\\[|\u009b)[01]?G`, "g");

/**
 * What a person reads of a program's output: without escape sequences and characters that nobody sees; of a line that was
 * overwritten, such as a progress bar, the last state. Lines end with `\n`.
 *
 * @param text of complete lines, except perhaps the last.
 */
export function readableText(text: string): string {
  return text
    .split("\n")
    .map((line) => withBackspaces(withoutInvisible(withoutSequences(lastState(line)))))
    .join("\n");
}

/** The last state of a line that was overwritten: what follows its last carriage return, except for those at its end. */
export function lastState(line: string): string {
  // In UTF-16, which `wsl.exe` prints, each carriage return is followed by a NUL.
  const end = line.replace(toLineStart, "\r").replace(/[\r\0]+$/, "");
  return end.slice(end.lastIndexOf("\r") + 1);
}

/** Keeps backspaces, which are applied afterwards: they go back over visible characters only, not over sequences. */
function withoutSequences(line: string): string {
  return line.replace(escapeSequences, (sequence) => (sequence === "\b" ? sequence : ""));
}

/** Applies backspaces, after which other characters take the place of those before, as in a spinner. */
function withBackspaces(line: string): string {
  if (!line.includes("\b")) return line;
  const written: string[] = [];
  let at = 0;
  for (const character of line) {
    if (character === "\b") at = Math.max(0, at - 1);
    else written[at++] = character;
  }
  return written.join("");
}

/** Truncates a text to one line. It must be masked before: a cut could leave half of a secret. */
export function shorten(masked: string, most: number): string {
  const line = masked.replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most)}…` : line;
}

const mostLines = 20;
const mostLength = 4096;

/** The end of an output for a message: its last 20 lines, at most 4096 characters. */
export class OutputTail {
  #text = "";

  add(piece: string): void {
    this.#text = (this.#text + piece).slice(-mostLength);
  }

  /** As a person reads it. */
  text(): string {
    return readableText(this.#text).trim().split("\n").slice(-mostLines).join("\n");
  }
}
