import { type Effort, SecretSearch, searchSteps, secretForms, shortestSecret } from "./secretSearch.ts";

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
  #effort: Effort = { left: searchSteps.most, hidesLine: false };
  /** How long what is held must be for another look at it. */
  #enough = 0;
  #steps = 0;

  constructor(search: SecretSearch) {
    this.#search = search;
  }

  /** How many the search has taken so far; a copy's, for `rest`, aren't among them. */
  get steps(): number {
    return this.#steps;
  }

  /** What can be shown so far: all but a tail that may yet turn out to be a secret. */
  write(piece: string): string {
    const text = this.#held + piece;
    if (text.length >= this.#enough) return this.#show(text, false);
    this.#held = text;
    return "";
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
    copy.#effort = this.#effort;
    return copy.end();
  }

  #show(text: string, isWhole: boolean): string {
    const { covered, until, effort, steps, inVain } = this.#search.in(text, isWhole, this.#effort);
    this.#effort = effort;
    this.#steps += steps;
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
    const { perPiece, perCharacter } = searchSteps;
    this.#enough = inVain > perPiece ? this.#held.length + inVain / perCharacter : 0;
    return shown;
  }
}
