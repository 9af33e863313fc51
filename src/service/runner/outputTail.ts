import { stripVTControlCharacters } from "node:util";

const mostLines = 20;
const mostLength = 4096;

/** The end of an output, as much as fits into a message: its last 20 lines, at most 4 KiB of them. */
export class OutputTail {
  #text = "";

  add(piece: string): void {
    this.#text = (this.#text + piece).slice(-mostLength);
  }

  /** As plain text: without colours, and of a line that was rewritten (a progress bar) only what it said last. */
  text(): string {
    return stripVTControlCharacters(this.#text)
      .replaceAll("\r\n", "\n")
      .split("\n")
      .map((line) => line.replace(/\r+$/, "").split("\r").at(-1) ?? "")
      .join("\n")
      .trim()
      .split("\n")
      .slice(-mostLines)
      .join("\n")
      .replace(unprintable, "\ufffd");
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: what binary output holds must not reach a terminal.
const unprintable = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
