import { EscapedText, isIntroducer, longestEscape } from "./escapedText.ts";

/**
 * What a search may cost: so many steps for each character, which add up to no more than the most while they aren't
 * needed; and for each piece what is looked at once more, as it may begin a secret. A step is one way to read what may
 * be escaped, with 16 characters behind it.
 */
export const searchSteps = { perCharacter: 16, most: 200_000, perPiece: 1000 } as const;
const charactersPerStep = 16;

/** What a stream's search carries from piece to piece. */
export interface Effort {
  /** The steps that may be taken at once. */
  readonly left: number;
  /** Whether there were too few: what may be a secret began, and the rest of its line is covered unread. */
  readonly hidesLine: boolean;
}

interface Found {
  /** The parts that secrets cover, in the order in which they begin. */
  readonly covered: readonly { readonly from: number; readonly to: number }[];
  /** Up to where that is certain: what begins there may become a secret with what follows. */
  readonly until: number;
  readonly effort: Effort;
  readonly steps: number;
  /** The steps that were taken where it isn't certain. */
  readonly inVain: number;
}

/** A form, and how it repeats itself. */
interface Sought {
  readonly form: SecretForm;
  /** For each position in the form: how many units from there on are those that the form begins with. */
  readonly repeats: Uint32Array;
}

export class SecretSearch {
  /** The forms by what they may begin with. */
  readonly #forms = new Map<string, Sought[]>();
  /** Marks the pairs of units that some form begins with. Other pairs may share a mark. */
  readonly #pairs = new Uint8Array(0x1_0000);

  constructor(forms: readonly SecretForm[]) {
    for (const form of forms) {
      const [first = "", second = ""] = form.units;
      const sought = { form, repeats: repeatsIn(form.units) };
      for (const unit of first) {
        this.#forms.set(unit, [...(this.#forms.get(unit) ?? []), sought]);
        for (const next of second) this.#pairs[pairOf(unit.charCodeAt(0), next.charCodeAt(0))] = 1;
      }
    }
  }

  in(text: string, isWhole: boolean, { left, hidesLine }: Effort): Found {
    const covered: { from: number; to: number }[] = [];
    const look = new Look(text);
    let counted = 0;
    const { escaped } = look;
    const found = (until: number, hidesLine: boolean, inVain = 0): Found => {
      const effort = { left: refilled(left, until - counted), hidesLine };
      return { covered, until, effort, steps: look.steps, inVain };
    };
    if (this.#forms.size === 0) return found(text.length, false);
    let from = 0;
    if (hidesLine) {
      from = endOfLine(text, 0);
      if (from > 0) covered.push({ from: 0, to: from });
      if (from === text.length) return found(from, true);
    }
    while (from < text.length) {
      const unit = text.charCodeAt(from);
      const next = text.charCodeAt(from + 1);
      const mayBegin =
        isIntroducer(unit) ||
        this.#pairs[pairOf(unit, next)] === 1 ||
        (isSpecial(next) && this.#forms.has(text.charAt(from)));
      if (!mayBegin) {
        from += 1;
        continue;
      }
      left = refilled(left, from - counted);
      counted = from;
      const before = look.steps;
      look.begin(from, left);
      let to = this.#endFrom(from, look);
      if (escaped.hasRunOut && !isWhole) return found(from, false, look.steps - before);
      left = Math.max(0, look.left);
      if (look.left < 0) {
        to = endOfLine(text, Math.max(to, look.reached, from + 1));
        covered.push({ from, to });
        if (to === text.length) return found(to, true);
        from = to;
      } else {
        if (to > from) covered.push({ from, to });
        from += 1;
      }
    }
    return found(text.length, false);
  }

  /** Where the longest form ends that begins here; where it begins, when none does. */
  #endFrom(from: number, look: Look): number {
    let longest = from;
    let tried = "";
    for (const { value } of look.escaped.readings(from)) {
      const first = value.charAt(0);
      if (tried.includes(first)) continue;
      tried += first;
      for (const sought of this.#forms.get(first) ?? []) {
        longest = Math.max(longest, look.endOf(sought, from));
        if (look.left < 0) return longest;
      }
    }
    return longest;
  }
}

/** The search in one text. */
class Look {
  readonly escaped: EscapedText;
  /** All that were taken. */
  steps = 0;
  /** Those that may be taken from the present start on; below zero when there were too few. */
  left = 0;
  /** How far what was looked at from the present start reaches. */
  reached = 0;
  /** Of each form where it was last found to begin, and how far the text was as it is in the form. */
  readonly #alike = new Map<Sought, { from: number; to: number }>();

  constructor(text: string) {
    this.escaped = new EscapedText(text);
  }

  begin(from: number, left: number): void {
    this.escaped.hasRunOut = false;
    this.left = left;
    this.reached = from;
  }

  /** Where the form ends that begins here; where it begins, when it doesn't. */
  endOf(sought: Sought, from: number): number {
    const { escaped } = this;
    const { text } = escaped;
    const { units, ignored } = sought.form;
    const begun = this.#alikeFrom(sought, from);
    if (begun === units.length) return from + begun;
    if (!isSpecial(text.charCodeAt(from + begun))) return from;
    const longest = from + units.length * longestEscape;
    const open = [{ next: begun, at: from + begun }];
    const seen = new Set<number>();
    let end = from;
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      let { next, at } = state;
      while (next < units.length && isUnit(units[next], text.charCodeAt(at))) {
        next += 1;
        at += 1;
      }
      this.reached = Math.max(this.reached, at);
      if (!this.#take(1 + Math.floor((at - state.at) / charactersPerStep))) break;
      if (next === units.length) end = Math.max(end, at);
      else if (isSpecial(text.charCodeAt(at)) && at < longest && !seen.has(next * longest + at)) {
        seen.add(next * longest + at);
        for (const { value, end } of escaped.readings(at)) {
          if (isAt(units, next, value)) open.push({ next: next + value.length, at: end });
          else if (next > 0 && ignored.includes(value)) open.push({ next, at: end });
        }
      }
    }
    return end;
  }

  /**
   * How many of the form's units stand here as they are. What an earlier start has read already isn't read again, so
   * all starts together read each character about once for each form. None of it counts as what is left, as it depends
   * on how the text is cut.
   */
  #alikeFrom(sought: Sought, from: number): number {
    const { text } = this.escaped;
    const { units } = sought.form;
    const last = this.#alike.get(sought);
    let length = 0;
    if (last !== undefined && from < last.to) {
      length = Math.min(sought.repeats[from - last.from] ?? 0, last.to - from);
    }
    const known = length;
    while (length < units.length && isUnit(units[length], text.charCodeAt(from + length))) length += 1;
    this.steps += Math.floor((length - known) / charactersPerStep);
    this.reached = Math.max(this.reached, from + length);
    if (from + length > (last?.to ?? from)) this.#alike.set(sought, { from, to: from + length });
    return length;
  }

  #take(steps: number): boolean {
    this.steps += steps;
    this.left -= steps;
    return this.left >= 0;
  }
}

/** For each position how many units from there on are those at the beginning (the Z algorithm). */
function repeatsIn(units: readonly string[]): Uint32Array {
  const repeats = new Uint32Array(units.length);
  let [from, to] = [0, 0];
  for (let at = 1; at < units.length; at += 1) {
    let length = at < to ? Math.min(repeats[at - from] ?? 0, to - at) : 0;
    while (at + length < units.length && units[at + length] === units[length]) length += 1;
    repeats[at] = length;
    if (at + length > to) [from, to] = [at, at + length];
  }
  return repeats;
}

function isAt(units: readonly string[], next: number, value: string): boolean {
  for (let index = 0; index < value.length; index += 1) {
    if (units[next + index]?.includes(value.charAt(index)) !== true) return false;
  }
  return true;
}

function refilled(left: number, characters: number): number {
  return Math.min(searchSteps.most, left + characters * searchSteps.perCharacter);
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end === -1 ? text.length : end;
}

/** Whether the unit is the one that is wanted, as it stands. */
function isUnit(wanted: string | undefined, unit: number): boolean {
  if (wanted === undefined || isSpecial(unit)) return false;
  return wanted.length === 1 ? wanted.charCodeAt(0) === unit : wanted.includes(String.fromCharCode(unit));
}

/** What may stand for something else or for nothing, and the text's end. */
function isSpecial(unit: number): boolean {
  return isIntroducer(unit) || unit === 0x0a || unit === 0x0d || Number.isNaN(unit);
}

function pairOf(first: number, second: number): number {
  return (first * 31 + second) & 0xffff;
}

/** A secret as it may stand in a text, once the text's escapes are read. */
interface SecretForm {
  /** What fits at each position: any one of these UTF-16 units. */
  readonly units: readonly string[];
  /** What may stand between two positions without a meaning. */
  readonly ignored: string;
}

/** A value of one or two characters is no secret, and hiding it would make every text unreadable. */
export const shortestSecret = 3;
/** Of a part of a value, or of a way that it is written; shorter ones would be found in the middle of words. */
const shortestPart = 8;

/** Of each position the letter in both alphabets of Base64 (RFC 4648). */
const base64 = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "+-", "/_"];

/**
 * A value as it is, in hex and in Base64, with whatever before and behind it. One of many lines shows line by line as
 * well. An address shows as browsers and servers write it, too; a password in it is a secret also where it stands alone.
 */
export function secretForms(values: Iterable<string>): readonly SecretForm[] {
  const secrets = [...values].flatMap((value) => [value, ...passwordsIn(value)]).flatMap(withLines);
  const shown = [...values].flatMap((value) => asAddress(value.trim()));
  const isSecret = ({ length }: string): boolean => length >= shortestSecret;
  return [
    ...[...new Set(secrets)].filter(isSecret).flatMap(formsOf),
    ...[...new Set(shown)].filter(isSecret).map(asItIs),
  ];
}

/** How a value shows in an address that was read: the whole of it, without its query, and a part of a host's name. */
function asAddress(value: string): string[] {
  if (/^[\w.-]+$/.test(value)) return value.length < shortestPart ? [] : [value.toLowerCase()];
  if (!/^(?:https?|wss?):/i.test(value) || !URL.canParse(value)) return [];
  const { href, origin, pathname } = new URL(value);
  return [href, `${origin}${pathname}`];
}

function passwordsIn(value: string): string[] {
  const written = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@:]*:([^/?#]*)@/i.exec(value.trim())?.[1];
  if (written === undefined) return [];
  try {
    return [written, decodeURIComponent(written)];
  } catch {
    return [written];
  }
}

function withLines(value: string): string[] {
  const lines = value.split(/\r?\n/).map((line) => line.trim());
  return [value, ...(lines.length > 1 ? lines.filter((line) => line.length >= shortestPart) : [])];
}

function formsOf(secret: string): SecretForm[] {
  const bytes = Buffer.from(secret);
  const hex = [...bytes.toString("hex")].map((digit) => digit + (digit > "9" ? digit.toUpperCase() : ""));
  const encoded = [hex, ...[0, 1, 2].map((before) => inBase64(bytes, before))];
  // What encodes a long text breaks it into lines.
  return [asItIs(secret), ...encoded.map((units) => ({ units, ignored: "\r\n" }))];
}

function asItIs(secret: string): SecretForm {
  return { units: secret.split(""), ignored: "" };
}

/**
 * The letters that hold the bytes, where so many bytes of the same three stand before them. The last may hold bits of
 * what follows, and fits whatever they are. One that holds bits of what stands before is left out, with two or four bits
 * of the first byte: a quarter of all letters would fit, and each at the end of an output be held back.
 */
function inBase64(bytes: Uint8Array, before: number): string[] {
  const [start, end] = [before * 8, (before + bytes.length) * 8];
  const units: string[] = [];
  for (let at = Math.ceil(start / 6) * 6; at < end; at += 6) {
    let [mask, wanted] = [0, 0];
    for (let bit = at; bit < at + 6; bit += 1) {
      const isKnown = bit < end;
      const byte = bytes[(bit - start) >> 3] ?? 0;
      mask = mask * 2 + (isKnown ? 1 : 0);
      wanted = wanted * 2 + (isKnown ? (byte >> (7 - (bit % 8))) & 1 : 0);
    }
    units.push(base64.filter((_, value) => (value & mask) === wanted).join(""));
  }
  return units;
}
