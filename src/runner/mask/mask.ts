import { ExpressionFault, type Json, parseJson, writeJson } from "../../pipeline/expression/value.ts";
import { formsOf, unknown } from "./secretForms.ts";
import { type Effort, SecretSearch, searchSteps } from "./secretSearch.ts";

const stars = "***";

/** In characters. A shorter secret may be found within a word by chance; a real one is usually longer. */
const longestShort = 8;
/** How many characters that may begin a secret are hidden where the text may have been cut. */
const shortestBeginning = 3;

function isLetter(sign = ""): boolean {
  return /^\p{L}$/u.test(sign);
}

/** Masks secrets in all that is shown, even where they are encoded or escaped. */
export class Mask {
  #secrets: Secrets;
  #hidesAll = false;

  constructor(values: Iterable<string>) {
    this.#secrets = new Secrets(values);
  }

  /** Masks these too from here on, also in streams that have begun. */
  add(values: readonly string[]): void {
    this.#secrets.add(values);
  }

  /** A mask of the same secrets, those that are added later included, for the texts of one step. */
  ofStep(): Mask {
    const mask = new Mask([]);
    mask.#secrets = this.#secrets;
    return mask;
  }

  /** Masks each text as a whole from here on, since it isn't known what is secret in it; streams are masked as before. */
  hideAll(): void {
    this.#hidesAll = true;
  }

  get hidesAll(): boolean {
    return this.#hidesAll;
  }

  /** Whether a short secret was found within a word, as `dev` in `developer`: it may be none. */
  get hidesWithinWords(): boolean {
    return this.#secrets.hidesWithinWords;
  }

  /** Masks a complete text. */
  hide(text: string): string {
    return this.hideIn(text, text.length);
  }

  /** Masks the first `length` characters of a text; a secret that the cut would split is left out. */
  hideIn(text: string, length: number): string {
    if (this.#hidesAll) return text === "" ? "" : stars;
    const stream = this.stream();
    const shown = stream.write(text.slice(0, length));
    return length < text.length ? shown : shown + stream.end();
  }

  /** Masks a text that arrives in pieces, across which a secret may be split. */
  stream(): MaskedStream {
    return new MaskedStream(this.#secrets);
  }
}

/** The secrets of a run, to which more may be added. */
class Secrets {
  hidesWithinWords = false;
  readonly search = new SecretSearch();
  readonly #known = { values: new Set<string>(), secrets: new Set<string>(), written: new Set<string>() };

  constructor(values: Iterable<string>) {
    this.add(values);
  }

  add(values: Iterable<string>): void {
    this.search.add(formsOf(unknown(values, this.#known.values), this.#known));
  }
}

class MaskedStream {
  readonly #secrets: Secrets;
  /** A possible beginning of a secret, and how much of it belongs to a secret found before. */
  #held = "";
  #coveredTo = 0;
  #endsInStars = false;
  #effort: Effort = { left: searchSteps.most, hidesLine: false };
  /** How long the held text must be before it is searched again. */
  #enough = 0;
  #steps = 0;

  constructor(secrets: Secrets) {
    this.#secrets = secrets;
  }

  /** The search's steps so far, without those of `rest`. */
  get steps(): number {
    return this.#steps;
  }

  /** Returns what is certain so far: all but a tail in which a secret may begin. */
  write(piece: string): string {
    const text = this.#held + piece;
    if (text.length >= this.#enough) return this.#show(text, false);
    this.#held = text;
    return "";
  }

  end(): string {
    return this.#show(this.#held, true);
  }

  /** As `rest`, for an output that is over. */
  cut(): string {
    const rest = this.rest();
    this.#held = "";
    this.#coveredTo = 0;
    return rest;
  }

  /**
   * What `end` would return now, of an output that may have been cut within a secret: what may be its beginning is hidden too. The
   * text may continue.
   */
  rest(): string {
    if (this.#held.length - this.#coveredTo >= shortestBeginning) return this.#endsInStars ? "" : stars;
    const copy = new MaskedStream(this.#secrets);
    copy.#held = this.#held;
    copy.#coveredTo = this.#coveredTo;
    copy.#endsInStars = this.#endsInStars;
    copy.#effort = this.#effort;
    return copy.end();
  }

  #show(text: string, isWhole: boolean): string {
    const { covered, until, effort, steps, inVain } = this.#secrets.search.in(text, isWhole, this.#effort);
    this.#effort = effort;
    this.#steps += steps;
    let shown = "";
    let position = 0;
    const before = this.#coveredTo > 0 ? [{ from: 0, to: this.#coveredTo }] : [];
    this.#coveredTo = Math.max(0, this.#coveredTo - until);
    for (const { from, to } of [...before, ...covered]) {
      if (from > position) {
        shown += text.slice(position, from);
        this.#endsInStars = false;
      }
      if (to - from < longestShort && (isLetter(text[from - 1]) || isLetter(text[to])))
        this.#secrets.hidesWithinWords = true;
      if (!this.#endsInStars) shown += stars;
      this.#endsInStars = true;
      position = Math.max(position, Math.min(to, until));
      this.#coveredTo = Math.max(this.#coveredTo, to - until);
    }
    if (position < until) {
      shown += text.slice(position, until);
      this.#endsInStars = false;
    }
    this.#held = text.slice(until);
    const { perPiece, perCharacter } = searchSteps;
    this.#enough = inVain > perPiece ? this.#held.length + inVain / perCharacter : 0;
    return shown;
  }
}

/** A file's bytes or, if it is a text with a secret, that text masked. Reads UTF-8, UTF-16 and single-byte encodings. */
export function maskedBytes(
  bytes: Uint8Array,
  mask: Pick<Mask, "hide">,
): { readonly isText: boolean; readonly content: Uint8Array | string } {
  const text = textOf(bytes);
  if (text === undefined) return { isText: false, content: bytes };
  const masked = mask.hide(text);
  return { isText: true, content: masked === text ? bytes : masked };
}

/** @returns undefined for what isn't text: bytes that aren't UTF-8 and contain NUL. */
function textOf(bytes: Uint8Array): string | undefined {
  const decode = (encoding: string, fatal = false) =>
    new TextDecoder(encoding, { fatal, ignoreBOM: true }).decode(bytes);
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return decode("utf-16le");
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return decode("utf-16be");
  try {
    return decode("utf-8", true);
  } catch {
    return bytes.includes(0) ? undefined : decode("windows-1252");
  }
}

const deepest = 500;

/** JSON with all values in it masked, still valid. @returns undefined for a text that isn't JSON, or can't be written again. */
export function maskedJson(text: string, mask: Mask): string | undefined {
  const parsed = parseJson(text);
  if (parsed === undefined) return undefined;
  try {
    return writeJson(maskedValue(parsed.value, mask));
  } catch (error) {
    if (error instanceof ExpressionFault) return undefined;
    throw error;
  }
}

/**
 * A value with all texts in it masked, names of members included; a number that is masked becomes a text. What is nested deeper
 * than anybody reads is masked as a whole.
 */
export function maskedValue(value: Json, mask: Mask, depth = 0): Json {
  if (typeof value === "string") return mask.hide(value);
  if (typeof value !== "object" || value === null) {
    const shown = mask.hide(String(value));
    return shown === String(value) ? value : shown;
  }
  if (depth === deepest) return "***";
  if (Array.isArray(value)) return value.map((item: Json) => maskedValue(item, mask, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [mask.hide(name), maskedValue(item, mask, depth + 1)]),
  );
}
