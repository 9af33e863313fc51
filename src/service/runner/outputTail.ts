import { stripVTControlCharacters } from "node:util";

const mostLines = 20;
const mostLength = 4096;

/** The end of an output for a message: its last 20 lines, at most 4096 characters. */
export class OutputTail {
  #text = "";

  add(piece: string): void {
    this.#text = (this.#text + piece).slice(-mostLength);
  }

  /** As plain text without escape sequences; of a line that was overwritten, such as a progress bar, the last state. */
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

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters of binary output must not reach a terminal.
const unprintable = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
