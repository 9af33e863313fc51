/** What has come of a line that is typed without being shown. */
export type Typed =
  | { readonly kind: "typing" }
  | { readonly kind: "entered"; readonly text: string }
  /** Ctrl-C. */
  | { readonly kind: "interrupted" }
  /** More than any key has. */
  | { readonly kind: "too-long" };

/**
 * A line that a terminal in raw mode sends key by key. Enter and Ctrl-D end it; backspace, Ctrl-U and Ctrl-W correct it;
 * the marks around a paste, cursor keys and other controls count for nothing.
 */
export class SecretLine {
  readonly #longest: number;
  #text = "";
  /** What has come after the ESC of a sequence whose end has not come yet. */
  #escape: string | undefined;

  constructor(longest: number) {
    this.#longest = longest;
  }

  /** @param chunk what the terminal has sent; what follows the line's end in it is dropped. */
  feed(chunk: string): Typed {
    for (const character of chunk) {
      if (this.#isInEscape(character)) continue;
      switch (character) {
        case "\r":
        case "\n":
        case "\u0004":
          return { kind: "entered", text: this.#text };
        case "\u0003":
          return { kind: "interrupted" };
        case "\u007f":
        case "\b":
          this.#text = [...this.#text].slice(0, -1).join("");
          break;
        case "\u0015":
        case "\u0017":
          this.#text = "";
          break;
        default:
          if (character >= " ") this.#text += character;
          if (this.#text.length > this.#longest) return { kind: "too-long" };
      }
    }
    return { kind: "typing" };
  }

  /** Whether a character belongs to an escape sequence: `ESC [ … letter`, `ESC O letter`, or `ESC` and one more. */
  #isInEscape(character: string): boolean {
    if (character === "\u001b") {
      this.#escape = "";
      return true;
    }
    if (this.#escape === undefined) return false;
    // Enter and Ctrl-C mean what they say, also after a lone Escape.
    if (character < " ") {
      this.#escape = undefined;
      return false;
    }
    const sequence: string = this.#escape + character;
    this.#escape = /^(\[[ -?]*|O)$/.test(sequence) ? sequence : undefined;
    return true;
  }
}
