import type { Block } from "./stepSection.ts";
import type { TextLine } from "./textLine.ts";

/** A part of the document that has a name and can be folded. Lines count from 0. */
export interface Part {
  readonly kind: "failed" | "kept" | "step";
  readonly name: string;
  /** What a screen reader or an outline adds, such as the step's status. */
  readonly detail: string;
  readonly firstLine: number;
  readonly lastLine: number;
}

/** The document as it was at a moment, while the log goes on. */
export class LogSnapshot {
  readonly parts: readonly Part[];
  readonly lineCount: number;
  readonly byteCount: number;
  readonly #blocks: readonly Block[];

  constructor(blocks: readonly Block[], parts: readonly Part[]) {
    this.#blocks = blocks;
    this.parts = parts;
    // Behind the last line end the editor has one more line, which is empty.
    this.lineCount = blocks.reduce((sum, { count }) => sum + count, 1);
    this.byteCount = blocks.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
  }

  bytes(): Uint8Array {
    return Buffer.concat(
      this.#blocks.map(({ bytes }) => bytes),
      this.byteCount,
    );
  }

  /** The lines from one to another, both of them too, each with its number. */
  *lines(first: number, last: number): Generator<readonly [number: number, line: TextLine]> {
    let begin = 0;
    for (const { lines, count } of this.#blocks) {
      const until = Math.min(count - 1, last - begin);
      for (let at = Math.max(0, first - begin); at <= until; at++) {
        const line = lines[at];
        if (line !== undefined) yield [begin + at, line];
      }
      begin += count;
      if (begin > last) return;
    }
  }
}
