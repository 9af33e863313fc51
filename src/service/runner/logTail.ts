import type { OutputStream } from "./protocol.ts";

/** A piece of a step's log that has not been told yet. */
export interface LogPiece {
  readonly stream: OutputStream;
  /** When its first letter came. */
  readonly at: Date;
  text: string;
}

/** Small pieces are put together up to this, in characters, so that what is kept is never a list of letters. */
const joinedLength = 4096;

/** The end of a log that has become too long: what is dropped before it is only counted. */
export class LogTail {
  #pieces: LogPiece[] = [];
  #length = 0;
  #dropped = 0;

  /** @param most how much is kept, in characters. */
  add(piece: LogPiece, most: number): void {
    const last = this.#pieces.at(-1);
    if (last?.stream === piece.stream && last.text.length + piece.text.length <= joinedLength) {
      last.text += piece.text;
    } else this.#pieces.push({ ...piece });
    this.#length += piece.text.length;
    for (let first = this.#pieces[0]; first !== undefined; first = this.#pieces[0]) {
      const tooMuch = this.#length - most;
      if (tooMuch < first.text.length) break;
      this.#pieces.shift();
      this.#drop(first.text);
    }
  }

  /** Empties it. `dropped` is in bytes. */
  take(most: number): { readonly dropped: number; readonly pieces: readonly LogPiece[] } {
    const [first] = this.#pieces;
    if (first !== undefined && this.#length > most) {
      const cut = startOfLetter(first.text, this.#length - most);
      this.#drop(first.text.slice(0, cut));
      first.text = first.text.slice(cut);
    }
    const taken = { dropped: this.#dropped, pieces: this.#pieces };
    this.#pieces = [];
    this.#length = 0;
    this.#dropped = 0;
    return taken;
  }

  #drop(text: string): void {
    this.#length -= text.length;
    this.#dropped += Buffer.byteLength(text);
  }
}

/** The position, or the one behind it where it would cut a letter in two. */
export function startOfLetter(text: string, position: number): number {
  const isInside =
    /^[\udc00-\udfff]$/.test(text[position] ?? "") && /^[\ud800-\udbff]$/.test(text[position - 1] ?? "");
  return isInside ? position + 1 : position;
}
