import { shortestSecret, withoutSecret } from "./foreignText.ts";

/**
 * A text that comes in pieces and is passed on as it is, but for the API keys in it, of which one piece may hold the
 * beginning and the next the rest. What may be a beginning is held back until it is known.
 */
export class StreamedText {
  readonly #apiKeys: ReadonlySet<string>;
  #held = "";

  /** @param apiKeys every key that the service was sent; one that is found later may be added. */
  constructor(apiKeys: ReadonlySet<string>) {
    this.#apiKeys = apiKeys;
  }

  /** What can be passed on with this piece. */
  add(piece: string): string {
    const keys = [...this.#apiKeys].filter(({ length }) => length >= shortestSecret);
    const text = keys.reduce(withoutSecret, this.#held + piece);
    const doubt = Math.max(0, ...keys.map((key) => begunAtEnd(text, key)));
    this.#held = text.slice(text.length - doubt);
    return text.slice(0, text.length - doubt);
  }

  /** What was held back, once nothing comes any more. */
  rest(): string {
    const held = this.#held;
    this.#held = "";
    return held;
  }
}

/** How many characters at a text's end are the beginning of a key. */
function begunAtEnd(text: string, key: string): number {
  for (let length = Math.min(key.length - 1, text.length); length > 0; length -= 1) {
    if (text.endsWith(key.slice(0, length))) return length;
  }
  return 0;
}
