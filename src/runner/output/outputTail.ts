import { readableText } from "./readableText.ts";

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
