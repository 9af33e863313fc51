import { EscapedText, isIntroducer, isInvisible, longestEscape } from "../output/escapedText.ts";
import type { SecretForm } from "./secretForms.ts";

/**
 * The budget of a search: steps for each character, saved up to a maximum while they aren't used, and for each piece
 * steps to search its held-back tail again. A step is one decoding of a possible escape and the 16 characters after it.
 */
export const searchSteps = { perCharacter: 16, most: 200_000, perPiece: 1000 } as const;
const charactersPerStep = 16;

/** The state of a search between two pieces of a stream. */
export interface Effort {
  readonly left: number;
  /** Whether the steps ran out at a possible secret; the rest of its line is masked unread. */
  readonly hidesLine: boolean;
}

interface Found {
  /** The parts with secrets, ordered by their start. */
  readonly covered: readonly { readonly from: number; readonly to: number }[];
  /** How far that is certain; a secret may begin there that continues in the next piece. */
  readonly until: number;
  readonly effort: Effort;
  readonly steps: number;
  /** The steps spent where it isn't certain. */
  readonly inVain: number;
}

interface Sought {
  readonly form: SecretForm;
  /** For each position in the form, how many units from there equal the form's beginning. */
  readonly repeats: Uint32Array;
}

export class SecretSearch {
  /** The forms by what they may begin with: their first unit, and their first two. */
  readonly #forms = new Map<string, Sought[]>();
  /** A hash set of the first two units of the forms; collisions only cost time. */
  readonly #pairs = new Uint8Array(0x1_0000);

  add(forms: readonly SecretForm[]): void {
    for (const form of forms) {
      const [first = "", second = ""] = form.units;
      const sought = { form, repeats: repeatsIn(form.units) };
      for (const unit of first) {
        this.#addAs(unit, sought);
        for (const next of second) {
          this.#addAs(unit + next, sought);
          this.#pairs[pairOf(unit.charCodeAt(0), next.charCodeAt(0))] = 1;
        }
      }
    }
  }

  #addAs(beginning: string, sought: Sought): void {
    const same = this.#forms.get(beginning);
    if (same === undefined) this.#forms.set(beginning, [sought]);
    else same.push(sought);
  }

  in(text: string, isWhole: boolean, { left, hidesLine }: Effort): Found {
    const covered: { from: number; to: number }[] = [];
    const scan = new TextScan(text);
    let counted = 0;
    const { escaped } = scan;
    const found = (until: number, hidesLine: boolean, inVain = 0): Found => {
      const effort = { left: refilled(left, until - counted), hidesLine };
      return { covered, until, effort, steps: scan.steps, inVain };
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
      const before = scan.steps;
      scan.begin(from, left);
      let to = this.#endFrom(from, scan);
      if (escaped.hasRunOut && !isWhole) return found(from, false, scan.steps - before);
      left = Math.max(0, scan.left);
      if (scan.left < 0) {
        to = endOfLine(text, Math.max(to, scan.reached, from + 1));
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

  /** The end of the longest form that begins here; `from` when there is none. */
  #endFrom(from: number, scan: TextScan): number {
    const { escaped } = scan;
    const beginning = escaped.text.slice(from, from + 2);
    // Many secrets have the same first character; few have the same second one too.
    const isPlain = !isSpecial(beginning.charCodeAt(0)) && !isSpecial(beginning.charCodeAt(1));
    let longest = from;
    let tried = "";
    for (const { value } of escaped.readings(from)) {
      const first = value.charAt(0);
      if (tried.includes(first)) continue;
      tried += first;
      for (const sought of this.#forms.get(isPlain ? beginning : first) ?? []) {
        longest = Math.max(longest, scan.endOf(sought, from));
        if (scan.left < 0) return longest;
      }
    }
    return longest;
  }
}

class TextScan {
  readonly escaped: EscapedText;
  steps = 0;
  /** The steps left for the current start; negative when they ran out. */
  left = 0;
  /** How far the text was read from the current start. */
  reached = 0;
  /** For each form, its last start and how far the text matched literally. */
  readonly #alike = new Map<Sought, { from: number; to: number }>();

  constructor(text: string) {
    this.escaped = new EscapedText(text);
  }

  begin(from: number, left: number): void {
    this.escaped.hasRunOut = false;
    this.left = left;
    this.reached = from;
  }

  /** The end of the form if it begins here; `from` when it doesn't. */
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
   * How many of the form's units match here literally. What an earlier start has matched isn't read again, so each
   * character is read about once for each form. It isn't charged to the budget, since it depends on how the text is
   * split into pieces.
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

/** For each position, how many units from there equal the beginning (the Z algorithm). */
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

function isUnit(wanted: string | undefined, unit: number): boolean {
  if (wanted === undefined || isSpecial(unit)) return false;
  return wanted.length === 1 ? wanted.charCodeAt(0) === unit : wanted.includes(String.fromCharCode(unit));
}

/** Whether the unit may begin an escape or an invisible sequence, is a line end, or is past the text's end. */
function isSpecial(unit: number): boolean {
  return isIntroducer(unit) || isInvisible(unit) || unit === 0x0a || unit === 0x0d || Number.isNaN(unit);
}

function pairOf(first: number, second: number): number {
  return (first * 31 + second) & 0xffff;
}
