import { harmless } from "../../contract/harmless.ts";

const esc = "\u001b";
/** Begins the line anew, empty. */
const clearLine = `\r${esc}[2K`;
/** A passing line is cut at the terminal's edge: where it went on in a second one, that would stay. */
const noWrap = `${esc}[?7l`;
const wrap = `${esc}[?7h`;

/** Looks of letters, in the colours of the editor's theme. */
export const look = {
  bold: (text: string) => `${esc}[1m${text}${esc}[22m`,
  dim: (text: string) => `${esc}[2m${text}${esc}[22m`,
  bad: (text: string) => `${esc}[31m${text}${esc}[39m`,
  good: (text: string) => `${esc}[32m${text}${esc}[39m`,
} as const;

/**
 * What a task prints to its terminal: lines that stay, and at most one that what is printed next replaces. Nothing in them
 * drives the terminal but colours, wherever a text came from.
 */
export class TaskScreen {
  readonly #write: (text: string) => void;
  #isPassing = false;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /** Prints a text of one or more lines. */
  line(text: string): void {
    this.clear();
    this.#write(`${harmless(text, true).replaceAll("\n", "\r\n")}\r\n`);
  }

  /** Shows a line until something else is printed. */
  passing(text: string): void {
    this.#write(`${clearLine}${noWrap}${harmless(text, true)}${wrap}`);
    this.#isPassing = true;
  }

  /** Takes the passing line away. */
  clear(): void {
    if (this.#isPassing) this.#write(clearLine);
    this.#isPassing = false;
  }
}
