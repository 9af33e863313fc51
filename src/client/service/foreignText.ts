import { controlCharacters, replaceControlCharacters } from "../../contract/controlCharacters.ts";

const longest = 400;
const mostLines = 60;
const hidden = new RegExp(`[${controlCharacters}\\s]+`, "gu");

/**
 * A text that came from outside, made fit to be shown: on one line, without control characters, not too long, and
 * without the API key, in case whoever wrote it repeats what it was sent.
 */
export function foreignText(text: string, apiKey: string): string {
  const plain = withoutKey(text, apiKey).replace(hidden, " ").trim();
  // Half of a letter may have come, and the cut may leave one.
  return (plain.length > longest ? `${plain.slice(0, longest)}…` : plain).toWellFormed();
}

/** The same of a text that says something else on each of its lines, which it keeps; empty ones go. */
export function foreignLines(text: string, apiKey: string): string {
  const lines = text.split(/[\r\n]+/).flatMap((line) => foreignText(line, apiKey) || []);
  return (lines.length > mostLines ? [...lines.slice(0, mostLines), "…"] : lines).join("\n");
}

/** A shorter key is no secret, and would be found in the middle of ids and words that aren't one. */
const shortestSecret = 8;

/** The text with every echo of a key that is long enough to be one replaced: for texts that are shown as they are. */
export function withoutSecret(text: string, apiKey: string): string {
  return apiKey.length < shortestSecret ? text : withoutKey(text, apiKey);
}

/** The text with every echo of the API key replaced. */
function withoutKey(text: string, apiKey: string): string {
  return apiKey === "" ? text : text.replaceAll(apiKey, "(the API key)");
}

/** The fields that hold sentences, which may have several lines; a line break in any other would break a table. */
const sentences: ReadonlySet<string> = new Set(["message", "reason", "problem"]);

/** The fields that hold ids: with a character less they would be the id of something else. */
const ids: ReadonlySet<string> = new Set(["run-id", "actor"]);

const unfit = new RegExp(`(?![\\n\\t])[${controlCharacters}]`, "gu");

/**
 * Parses JSON from outside. Every text in it is made fit to be shown on a terminal or a screen: without control
 * characters, which could move the cursor or set a clipboard, without those that turn the direction of writing, and
 * without the API key, in case the service repeats what it was sent.
 *
 * @throws SyntaxError for what is no JSON.
 */
export function parseForeignJson(text: string, apiKey: string): unknown {
  return JSON.parse(text, (field, value: unknown) =>
    typeof value === "string" ? shown(field, value, apiKey) : value,
  );
}

/** The key is looked for last: a character that is taken out of its middle would join it again. */
function shown(field: string, text: string, apiKey: string): string {
  if (ids.has(field)) return withoutSecret(replaceControlCharacters(text), apiKey);
  const lines = sentences.has(field) ? text : text.replace(/[\r\n\t\u2028\u2029]+/g, " ");
  return withoutSecret(lines.replace(unfit, ""), apiKey);
}

/**
 * A text that comes in pieces and is passed on as it is, but for the API keys in it, of which one piece may hold the
 * beginning and the next the rest. What may be a beginning is held back until it is known.
 */
export class SecretFilter {
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
