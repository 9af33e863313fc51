/** One way to read what stands at some position of a text: as it is, or as the escape of something else. */
export interface Reading {
  readonly value: string;
  /** Where what comes next begins. */
  readonly end: number;
}

/** An escape of an escape is read too, as JSON within JSON; what was escaped three times is not. */
const deepest = 2;
/** The highest code point of Unicode. */
const highest = 0x10ffff;
/** The most characters that a UTF-16 unit may take with its escapes, and somewhat more. */
export const longestEscape = 40;

const mostKept = 256;

/** Of an entity of HTML, with its semicolon; longer ones stand for no character. */
const longestEntity = 10;
const short = new Map(Object.entries({ b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }));
const named = new Map(Object.entries({ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" }));

/** What an escape begins with: percent-encoding, a form's space, JSON and the like, HTML. */
export function isIntroducer(unit: number): boolean {
  return unit === 0x25 || unit === 0x2b || unit === 0x5c || unit === 0x26;
}

/** A text of which some parts may be escaped, each in its own way: it isn't known which, so each is read in every way. */
export class EscapedText {
  readonly text: string;
  /** Whether some reading since this was last false needs more than the text holds. */
  hasRunOut = false;
  /** The readings that were asked for last, as neighbours ask for the same. */
  readonly #kept: { readonly at: number; readonly found: readonly Reading[] }[] = [];

  constructor(text: string) {
    this.text = text;
  }

  readings(at: number): readonly Reading[] {
    const kept = this.#kept[at % mostKept];
    if (kept?.at === at) return kept.found;
    const hadRunOut = this.hasRunOut;
    this.hasRunOut = false;
    const found = this.#readings(at, deepest);
    if (!this.hasRunOut) this.#kept[at % mostKept] = { at, found };
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
    if (depth === 0 || !isIntroducer(this.text.charCodeAt(at))) {
      found.push(itself);
      return;
    }
    this.#read(at, depth - 1, found);
    // What an escape stands for may begin one in turn.
    for (const begun of found.slice()) this.#escapes(begun, depth - 1, found);
  }

  #escapes({ value, end }: Reading, depth: number, found: Reading[]): void {
    switch (value) {
      case "+":
        add(found, " ", end);
        return;
      case "%":
        this.#letter(end, depth, found);
        return;
      case "\\":
        for (const next of this.#readings(end, depth)) this.#backslash(next, depth, found);
        return;
      case "&":
        this.#entity(end, found);
    }
  }

  /** `n`, `u003c`, `U0001f511`, `u{1f511}`, `xc3` and what it goes on with, or what stands for itself. */
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
    if (value === "x") this.#letter(end, depth, found);
  }

  /** The digits and the end of a `u{1f511}`, as JavaScript, Rust and others have it. */
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

  /** A letter of several bytes in UTF-8, each escaped; of the first only the digits are left. */
  #letter(at: number, depth: number, found: Reading[]): void {
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

  /** One of those that are no letter's first. */
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
