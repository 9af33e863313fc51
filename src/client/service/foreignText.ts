import { hasUserChosenNames } from "../../contract/wire.ts";
import { controlCharacters, replaceControlCharacters } from "../../text/controlCharacters.ts";

const longest = 400;
const mostLines = 60;
const hidden = new RegExp(`[${controlCharacters}\\s]+`, "gu");

/**
 * Makes a foreign text safe to show: on one line, without control characters, at most 400 characters long, and without the API
 * key, which its author may repeat.
 */
export function foreignText(text: string, apiKey: string): string {
  const plain = withoutKey(text, apiKey).replace(hidden, " ").trim();
  // The text, or its cut, may end in half of a surrogate pair.
  return (plain.length > longest ? `${plain.slice(0, longest)}…` : plain).toWellFormed();
}

/** Does the same for each line of a text; drops empty ones. */
export function foreignLines(text: string, apiKey: string): string {
  const lines = text.split(/[\r\n]+/).flatMap((line) => foreignText(line, apiKey) || []);
  return (lines.length > mostLines ? [...lines.slice(0, mostLines), "…"] : lines).join("\n");
}

/** Shorter keys are not masked: they would match inside ids and words. */
const shortestSecret = 8;

/** Masks a key in a text that is otherwise shown unchanged, unless the key is too short. */
export function withoutSecret(text: string, apiKey: string): string {
  return apiKey.length < shortestSecret ? text : withoutKey(text, apiKey);
}

function withoutKey(text: string, apiKey: string): string {
  return apiKey === "" ? text : text.replaceAll(apiKey, "(the API key)");
}

/** Fields whose texts may have several lines; elsewhere a line break would break a table. */
const sentences: ReadonlySet<string> = new Set(["message", "reason", "problem"]);

/** Ids keep their length: removing a character would make another id. */
const ids: ReadonlySet<string> = new Set(["run-id", "actor"]);

const unfit = new RegExp(`(?![\\n\\t])[${controlCharacters}]`, "gu");
/** Data must stay unchanged, since it may be sent again: our service's never contains these characters. */
const unfitData = /(?![\n\r\t])\p{Cc}/gu;

/**
 * Parses foreign JSON. Every text in it becomes safe to show on a terminal or a screen: without control characters, including
 * those that change the writing direction, and without the API key, which the service may repeat.
 *
 * @throws SyntaxError if the text isn't JSON.
 */
export function parseForeignJson(text: string, apiKey: string): unknown {
  return cleaned("", JSON.parse(text), apiKey, false);
}

/** @param isData whether it belongs to a run's inputs or outputs, whose texts are used again and so keep their line breaks. */
function cleaned(field: string, value: unknown, apiKey: string, isData: boolean): unknown {
  if (typeof value === "string") {
    return isData ? withoutSecret(value.replace(unfitData, ""), apiKey) : shown(field, value, apiKey);
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => cleaned("", item, apiKey, isData));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      const isMap = hasUserChosenNames(name) && !Array.isArray(item);
      return [name, cleaned(name, item, apiKey, isData || isMap)];
    }),
  );
}

/** Masks the key last, since removing a character from its middle would restore it. */
function shown(field: string, text: string, apiKey: string): string {
  if (ids.has(field)) return withoutSecret(replaceControlCharacters(text), apiKey);
  const lines = sentences.has(field) ? text : text.replace(/[\r\n\t\u2028\u2029]+/g, " ");
  return withoutSecret(lines.replace(unfit, ""), apiKey);
}

/** Masks API keys in a text that comes in pieces. What may be the beginning of a key is held back until the next piece. */
export class SecretFilter {
  readonly #apiKeys: ReadonlySet<string>;
  #held = "";

  /** @param apiKeys every key that was sent to the service; keys may be added later. */
  constructor(apiKeys: ReadonlySet<string>) {
    this.#apiKeys = apiKeys;
  }

  /** The masked text that is complete with this piece. */
  add(piece: string): string {
    const keys = [...this.#apiKeys].filter(({ length }) => length >= shortestSecret);
    const text = keys.reduce(withoutSecret, this.#held + piece);
    const doubt = Math.max(0, ...keys.map((key) => begunAtEnd(text, key)));
    this.#held = text.slice(text.length - doubt);
    return text.slice(0, text.length - doubt);
  }

  /** The held-back rest, at the text's end. */
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
