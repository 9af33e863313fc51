import type { TextLine } from "./textLine.ts";

/** Lines that follow each other in the document, as they were at a moment; what is added later is not among them. */
export interface Block {
  /** More lines may stand behind the first `count`, which are of a later moment. */
  readonly lines: readonly TextLine[];
  readonly count: number;
  readonly bytes: Uint8Array;
}

/** What a step wrote, as far as it is kept. Adding costs what is added; so does the next look at all of it. */
export class StepSection {
  #lines: TextLine[] = [];
  #encoded: Buffer[] = [];
  #encodedCount = 0;
  /** How much there is, in UTF-16 units and line ends. */
  #size = 0;
  #leftOut = 0;

  get size(): number {
    return this.#size;
  }

  /** How many lines were given up at the beginning. */
  get leftOut(): number {
    return this.#leftOut;
  }

  add(line: TextLine): void {
    this.#lines.push(line);
    this.#size += line.text.length + 1;
  }

  /** The last lines, without the notes of the service. */
  last(count: number): readonly TextLine[] {
    const found: TextLine[] = [];
    for (let at = this.#lines.length - 1; at >= 0 && found.length < count; at--) {
      const line = this.#lines[at];
      if (line !== undefined && line.stream !== "note") found.push(line);
    }
    return found.reverse();
  }

  /** Gives up lines at the beginning that come to at least so much, or all. @returns how much was given up. */
  giveUp(size: number): number {
    let given = 0;
    let count = 0;
    while (given < size && count < this.#lines.length) {
      given += (this.#lines[count]?.text.length ?? 0) + 1;
      count += 1;
    }
    this.#lines = this.#lines.slice(count);
    this.#size -= given;
    this.#leftOut += count;
    this.#encoded = [];
    this.#encodedCount = 0;
    return given;
  }

  block(): Block {
    const count = this.#lines.length;
    if (this.#encodedCount < count) {
      this.#encoded.push(encoded(this.#lines.slice(this.#encodedCount)));
      this.#encodedCount = count;
    }
    if (this.#encoded.length > 1) this.#encoded = [Buffer.concat(this.#encoded)];
    return { lines: this.#lines, count, bytes: this.#encoded[0] ?? Buffer.alloc(0) };
  }
}

export function blockOf(lines: readonly TextLine[]): Block {
  return { lines, count: lines.length, bytes: lines.length === 0 ? Buffer.alloc(0) : encoded(lines) };
}

/** Each line with its end. */
function encoded(lines: readonly TextLine[]): Buffer {
  return Buffer.from(`${lines.map(({ text }) => text).join("\n")}\n`, "utf8");
}
