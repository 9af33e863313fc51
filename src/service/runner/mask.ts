const stars = "***";
/** A value of one or two characters is no secret, and hiding it would make every text unreadable. */
const shortestSecret = 3;
/** In a value of several lines, such as a private key; shorter lines of it are brackets and the like. */
const shortestLine = 8;

/** Hides secrets in what people get to see. */
export class Mask {
  readonly #secrets: readonly string[];

  constructor(values: Iterable<string>) {
    this.#secrets = [...new Set([...values].flatMap(forms))].filter((form) => form.length >= shortestSecret);
  }

  /** A whole text without the secrets. */
  hide(text: string): string {
    const stream = this.stream();
    return stream.write(text) + stream.end();
  }

  /** For a text that comes in pieces, in which a secret may begin in one piece and end in another. */
  stream(): MaskedStream {
    return new MaskedStream(this.#secrets);
  }
}

/**
 * A secret also shows as JSON and in an address write it, and one of many lines shows line by line. Of an address with a
 * password in it, the password is a secret also where it stands alone.
 */
function forms(value: string): string[] {
  return [value, ...passwordsIn(value)].flatMap(formsOf);
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

function formsOf(value: string): string[] {
  const lines = value.split(/\r?\n/).map((line) => line.trim());
  const tellingLines = lines.length > 1 ? lines.filter((line) => line.length >= shortestLine) : [];
  return [value, ...tellingLines].flatMap((form) => [
    form,
    JSON.stringify(form).slice(1, -1),
    ...inAddresses(form.toWellFormed()),
    Buffer.from(form).toString("base64"),
  ]);
}

/** As an address shows it: each part of one escapes other characters. */
function inAddresses(form: string): string[] {
  const url = new URL("http://host/");
  url.pathname = `/${form}`;
  url.search = form;
  const asField = new URLSearchParams([["", form]]).toString().slice(1);
  return [encodeURIComponent(form), url.pathname.slice(1), url.search.slice(1), asField];
}

class MaskedStream {
  readonly #secrets: readonly string[];
  /** What may be the beginning of a secret, and which of it a secret that was found covers already. */
  #held = "";
  #coveredTo = 0;
  #endsInStars = false;
  /** How much of what is held was shown by a pause. */
  #shown = 0;

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets;
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
    const copy = new MaskedStream(this.#secrets);
    copy.#held = this.#held;
    copy.#coveredTo = this.#coveredTo;
    copy.#endsInStars = this.#endsInStars;
    copy.#shown = this.#shown;
    return copy.end();
  }

  #show(text: string, whole: boolean): string {
    if (this.#secrets.length === 0) return text;
    const covered = this.#covered(text);
    const until = whole ? text.length : this.#startOfDoubt(text);
    let shown = "";
    let position = Math.min(this.#shown, until);
    this.#shown -= position;
    this.#coveredTo = Math.max(0, this.#coveredTo - until);
    for (const { from, to } of covered) {
      if (from >= until) break;
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

  /** The parts of the text that secrets cover, in order, none touching the next. */
  #covered(text: string): { from: number; to: number }[] {
    const parts = this.#coveredTo > 0 ? [{ from: 0, to: this.#coveredTo }] : [];
    for (const secret of this.#secrets) {
      for (let from = text.indexOf(secret); from !== -1; from = text.indexOf(secret, from + 1)) {
        parts.push({ from, to: from + secret.length });
      }
    }
    const merged: { from: number; to: number }[] = [];
    for (const part of parts.toSorted((one, other) => one.from - other.from)) {
      const last = merged.at(-1);
      if (last !== undefined && part.from <= last.to) last.to = Math.max(last.to, part.to);
      else merged.push(part);
    }
    return merged;
  }

  /** Where the first ending of the text stands that is the beginning of a secret. */
  #startOfDoubt(text: string): number {
    let start = text.length;
    for (const secret of this.#secrets) {
      const most = Math.min(secret.length - 1, text.length);
      for (let length = most; text.length - length < start; length -= 1) {
        if (text.endsWith(secret.slice(0, length))) start = text.length - length;
      }
    }
    return start;
  }
}
