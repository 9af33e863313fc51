import { controlCharacters } from "../../text/controlCharacters.ts";
import { escapeSequences } from "../../text/escapeSequences.ts";
import { invisible } from "./readableText.ts";

/** One reading of a text at a position: literal, or as an escape. */
export interface Reading {
  readonly value: string;
  /** Where the next reading begins. */
  readonly end: number;
}

/** How deep nested escapes are decoded, such as JSON within JSON. */
const deepest = 2;
/** The highest code point of Unicode. */
const highest = 0x10ffff;
/** An upper bound of the characters that an escaped UTF-16 unit takes. */
export const longestEscape = 40;

const cacheSize = 256;

/** The longest HTML entity that is decoded, with its semicolon. */
const longestEntity = 10;
const short = new Map(Object.entries({ b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }));
const named = new Map(Object.entries({ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" }));

/** Whether an escape may begin with the unit: `%`, `+`, `\` or `&`. */
export function isIntroducer(unit: number): boolean {
  return unit === 0x25 || unit === 0x2b || unit === 0x5c || unit === 0x26;
}

/**
 * Whether the unit, or a sequence that may begin with it, is invisible: a terminal's sequence, a control character other than
 * tabs and line ends, a zero-width space. Whatever shows an output leaves these out, which joins the text around them.
 */
export function isInvisible(unit: number): boolean {
  known[unit] ||= unseenUnit.test(String.fromCharCode(unit)) ? 2 : 1;
  return known[unit] === 2;
}

const unseenUnit = new RegExp(`(?![\\t\\n\\r])(?:[${controlCharacters}]|${invisible})`, "u");
/** A cache, since every character of an output is looked up: 1 for a visible unit, 2 for an invisible one. */
const known = new Uint8Array(0x1_0000);
/** One invisible sequence, such as the colour of a match. */
const unseenSequence = new RegExp(`^(?:${escapeSequences.source}|${invisible})`, "u");
/** How many of them may be between two characters of a secret, and how long one may be. */
const most = { sequences: 8, length: 104 } as const;

/** A text whose parts may be escaped. It isn't known how, so each position has all its possible readings. */
export class EscapedText {
  readonly text: string;
  /** Whether a reading since this was reset needs more than the text has. */
  hasRunOut = false;
  /** A cache of recent readings, since neighbouring positions need the same ones. */
  readonly #cache: { readonly at: number; readonly found: readonly Reading[] }[] = [];

  constructor(text: string) {
    this.text = text;
  }

  readings(at: number): readonly Reading[] {
    const cached = this.#cache[at % cacheSize];
    if (cached?.at === at) return cached.found;
    const hadRunOut = this.hasRunOut;
    this.hasRunOut = false;
    const found = this.#readings(at, deepest);
    if (!this.hasRunOut) this.#cache[at % cacheSize] = { at, found };
    this.hasRunOut ||= hadRunOut;
    return found;
  }

  #readings(at: number, depth: number): readonly Reading[] {
    const found: Reading[] = [];
    if (at < this.text.length) this.#read(at, depth, found);
    else this.hasRunOut = true;
    return found;
  }

  #read(at: number, depth: number, found: Reading[]): void {
    const itself = { value: this.text.charAt(at), end: at + 1 };
    if (depth > 0 && isInvisible(this.text.charCodeAt(at))) {
      found.push(itself);
      const next = this.#pastInvisible(at);
      if (next !== undefined)
        for (const { value, end } of this.#readings(next, depth)) add(found, value, end);
      return;
    }
    if (depth === 0 || !isIntroducer(this.text.charCodeAt(at))) {
      found.push(itself);
      return;
    }
    this.#read(at, depth - 1, found);
    // A decoded character may begin another escape.
    for (const begun of found.slice()) this.#escapes(begun, depth - 1, found);
  }

  /** The position of the next visible character; undefined where that is too far. */
  #pastInvisible(from: number): number | undefined {
    let at = from;
    for (let count = 0; count < most.sequences; count += 1) {
      const [sequence = ""] = unseenSequence.exec(this.text.slice(at, at + most.length)) ?? [];
      if (sequence.length === most.length) return undefined;
      at += sequence.length;
      if (!isInvisible(this.text.charCodeAt(at))) return at;
    }
    return undefined;
  }

  #escapes({ value, end }: Reading, depth: number, found: Reading[]): void {
    switch (value) {
      case "+":
        add(found, " ", end);
        return;
      case "%":
        this.#utf8(end, depth, found);
        return;
      case "\\":
        for (const next of this.#readings(end, depth)) this.#backslash(next, depth, found);
        return;
      case "&":
        this.#entity(end, found);
    }
  }

  /** After a backslash: `n`, `u003c`, `U0001f511`, `u{1f511}`, `xc3` with its further bytes, or a literal character. */
  #backslash({ value, end }: Reading, depth: number, found: Reading[]): void {
    const digits = value === "u" ? 4 : value === "U" ? 8 : value === "x" ? 2 : 0;
    if (value === "u" && this.text.charAt(end) === "{") {
      this.#inBraces(end + 1, found);
      return;
    }
    if (digits === 0) {
      add(found, short.get(value) ?? value, end);
      return;
    }
    const point = this.#hex(end, digits);
    if (point !== undefined && point <= highest) add(found, String.fromCodePoint(point), end + digits);
    if (value === "x") this.#utf8(end, depth, found);
  }

  /** The rest of `u{1f511}`, as in JavaScript and Rust. */
  #inBraces(at: number, found: Reading[]): void {
    for (let digits = 1; digits <= 6; digits += 1) {
      const point = this.#hex(at, digits);
      if (point === undefined) return;
      if (at + digits >= this.text.length) this.hasRunOut = true;
      else if (this.text.charAt(at + digits) === "}" && point <= highest) {
        add(found, String.fromCodePoint(point), at + digits + 1);
        return;
      }
    }
  }

  /** A UTF-8 character whose bytes are escaped one by one; `at` is after the first byte's introducer. */
  #utf8(at: number, depth: number, found: Reading[]): void {
    const first = this.#hex(at, 2);
    if (first === undefined) return;
    const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const bytes = [first];
    let end = at + 2;
    while (bytes.length < length) {
      const next = this.#nextByte(end, depth);
      if (next === undefined) return;
      bytes.push(next.byte);
      end = next.end;
    }
    add(found, length === 1 ? String.fromCharCode(first) : Buffer.from(bytes).toString(), end);
  }

  /** An escaped continuation byte. */
  #nextByte(at: number, depth: number): { readonly byte: number; readonly end: number } | undefined {
    for (const { value, end } of this.#readings(at, depth)) {
      const digits =
        value === "%" ? end : value === "\\" && this.text.charAt(end) === "x" ? end + 1 : undefined;
      const byte = digits === undefined ? undefined : this.#hex(digits, 2);
      if (digits !== undefined && byte !== undefined && byte >> 6 === 2) return { byte, end: digits + 2 };
    }
    return undefined;
  }

  #entity(at: number, found: Reading[]): void {
    const rest = this.text.slice(at, at + longestEntity);
    const [, name = "", decimal, hex, semicolon] = /^(#(\d+)|#x([\da-f]+)|#?\w*)(;?)/i.exec(rest) ?? [];
    if (semicolon === "") {
      if (name === rest && rest.length < longestEntity) this.hasRunOut = true;
      return;
    }
    const point = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
    const value = point <= highest ? String.fromCodePoint(point) : named.get(name);
    if (value !== undefined) add(found, value, at + name.length + 1);
  }

  #hex(at: number, length: number): number | undefined {
    let number = 0;
    for (let index = at; index < at + length; index += 1) {
      const digit = digitOf(this.text.charCodeAt(index));
      if (index >= this.text.length) this.hasRunOut = true;
      if (digit === undefined) return undefined;
      number = number * 16 + digit;
    }
    return number;
  }
}

function digitOf(unit: number): number | undefined {
  if (unit >= 0x30 && unit <= 0x39) return unit - 0x30;
  // Lower case.
  const letter = unit | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : undefined;
}

function add(found: Reading[], value: string, end: number): void {
  for (const other of found) if (other.end === end && other.value === value) return;
  found.push({ value, end });
}
