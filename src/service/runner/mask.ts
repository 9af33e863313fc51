import { EscapedText, isIntroducer, longestEscape } from "./escapedText.ts";
import { type SecretForm, secretForms, shortestSecret } from "./secretForms.ts";

const stars = "***";

/** Hides secrets in what people get to see, also where they are encoded or escaped. */
export class Mask {
  readonly #search: SecretSearch;

  constructor(values: Iterable<string>) {
    this.#search = new SecretSearch(secretForms(values));
  }

  /** A whole text without the secrets. */
  hide(text: string): string {
    return this.hideIn(text, text.length);
  }

  /** So much of a text, in characters, without the secrets and without what one may begin with at the cut. */
  hideIn(text: string, length: number): string {
    const stream = this.stream();
    const shown = stream.write(text.slice(0, length));
    return length < text.length ? shown : shown + stream.end();
  }

  /** For a text that comes in pieces, in which a secret may begin in one piece and end in another. */
  stream(): MaskedStream {
    return new MaskedStream(this.#search);
  }
}

class MaskedStream {
  readonly #search: SecretSearch;
  /** What may be the beginning of a secret, and which of it a secret that was found covers already. */
  #held = "";
  #coveredTo = 0;
  #endsInStars = false;
  /** How much of what is held was shown by a pause. */
  #shown = 0;

  constructor(search: SecretSearch) {
    this.#search = search;
  }

  /** What can be shown so far: all but a tail that may yet turn out to be a secret. */
  write(piece: string): string {
    return this.#show(this.#held + piece, false);
  }

  end(): string {
    return this.#show(this.#held, true);
  }

  /**
   * What can be shown of the tail that is held, as nothing has followed it for a while: no more than what is no secret
   * by itself. If it does turn out to begin a secret, the rest of that is hidden.
   */
  pause(): string {
    if (this.#coveredTo > 0) return "";
    const most = Math.min(this.#held.length, shortestSecret - 1);
    const shown = this.#held.slice(this.#shown, most);
    this.#shown = Math.max(this.#shown, most);
    if (shown !== "") this.#endsInStars = false;
    return shown;
  }

  /** What `end` would show now; the text may go on. */
  rest(): string {
    const copy = new MaskedStream(this.#search);
    copy.#held = this.#held;
    copy.#coveredTo = this.#coveredTo;
    copy.#endsInStars = this.#endsInStars;
    copy.#shown = this.#shown;
    return copy.end();
  }

  #show(text: string, isWhole: boolean): string {
    const { covered, until } = this.#search.in(text, isWhole);
    let shown = "";
    let position = Math.min(this.#shown, until);
    this.#shown -= position;
    const before = this.#coveredTo > 0 ? [{ from: 0, to: this.#coveredTo }] : [];
    this.#coveredTo = Math.max(0, this.#coveredTo - until);
    for (const { from, to } of [...before, ...covered]) {
      if (from > position) {
        shown += text.slice(position, from);
        this.#endsInStars = false;
      }
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
    return shown;
  }
}

interface Found {
  /** The parts that secrets cover, in the order in which they begin. */
  readonly covered: readonly { readonly from: number; readonly to: number }[];
  /** Up to where that is certain: what begins there may become a secret with what follows. */
  readonly until: number;
}

class SecretSearch {
  /** The forms by what they may begin with. */
  readonly #forms = new Map<string, SecretForm[]>();
  /** Marks the pairs of units that some form begins with. Other pairs may share a mark. */
  readonly #pairs = new Uint8Array(0x1_0000);

  constructor(forms: readonly SecretForm[]) {
    for (const form of forms) {
      const [first = "", second = ""] = form.units;
      for (const unit of first) {
        this.#forms.set(unit, [...(this.#forms.get(unit) ?? []), form]);
        for (const next of second) this.#pairs[pairOf(unit.charCodeAt(0), next.charCodeAt(0))] = 1;
      }
    }
  }

  in(text: string, isWhole: boolean): Found {
    const covered: { from: number; to: number }[] = [];
    if (this.#forms.size === 0) return { covered, until: text.length };
    const escaped = new EscapedText(text);
    for (let from = 0; from < text.length; from += 1) {
      const unit = text.charCodeAt(from);
      const next = text.charCodeAt(from + 1);
      const mayBegin =
        isIntroducer(unit) ||
        this.#pairs[pairOf(unit, next)] === 1 ||
        (isSpecial(next) && this.#forms.has(text.charAt(from)));
      if (!mayBegin) continue;
      escaped.hasRunOut = false;
      const to = this.#endFrom(from, escaped);
      if (escaped.hasRunOut && !isWhole) return { covered, until: from };
      if (to > from) covered.push({ from, to });
    }
    return { covered, until: text.length };
  }

  /** Where the longest form ends that begins here; where it begins, when none does. */
  #endFrom(from: number, escaped: EscapedText): number {
    let longest = from;
    for (const { value } of escaped.readings(from)) {
      for (const form of this.#forms.get(value.charAt(0)) ?? []) {
        longest = Math.max(longest, endOf(form, from, escaped));
      }
    }
    return longest;
  }
}

/** Where the form ends that begins here; where it begins, when it doesn't. */
function endOf({ units, ignored }: SecretForm, from: number, escaped: EscapedText): number {
  const { text } = escaped;
  const longest = from + units.length * longestEscape;
  const open = [{ next: 0, at: from }];
  const seen = new Set<number>();
  let end = from;
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    let { next, at } = state;
    while (next < units.length && isUnit(units[next], text.charCodeAt(at))) {
      next += 1;
      at += 1;
    }
    if (next === units.length) end = Math.max(end, at);
    else if (isSpecial(text.charCodeAt(at)) && at < longest && !seen.has(next * longest + at)) {
      seen.add(next * longest + at);
      for (const { value, end } of escaped.readings(at)) {
        const isThere = value.split("").every((unit, index) => units[next + index]?.includes(unit));
        if (isThere) open.push({ next: next + value.length, at: end });
        else if (next > 0 && ignored.includes(value)) open.push({ next, at: end });
      }
    }
  }
  return end;
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
