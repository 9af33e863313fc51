import { type Json, parseJson } from "../../pipeline/expression/value.ts";

/** One way a secret may be written in a text, after the text's escapes are decoded. */
export interface SecretForm {
  /** The UTF-16 units that match at each position. */
  readonly units: readonly string[];
  /** Characters that are skipped between positions. */
  readonly ignored: string;
}

/** Shorter values aren't masked: that would make every text unreadable, and as secrets they would be guessed. */
const shortestSecret = 4;
/** The least length of a part of a value; shorter parts would match inside words. */
const shortestPart = 8;

/** The characters for each value in both Base64 alphabets (RFC 4648). */
const base64 = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "+-", "/_"];

/**
 * The forms of the values that aren't known yet. Each secret that `secretsIn` finds in them: as it is, in either case, in hex,
 * and in Base64 at any offset. Only as they are: secrets within quotes, and addresses as browsers and servers write them.
 */
export function formsOf(
  values: readonly string[],
  known: { readonly secrets: Set<string>; readonly written: Set<string> },
): readonly SecretForm[] {
  const shown = values.flatMap((value) => asAddress(value.trim()));
  const secrets = unknown(secretsIn(values), known.secrets);
  const written = unknown([...shown, ...secrets.flatMap(asQuoted)], known.written);
  return [
    ...secrets.flatMap(formsOfOne),
    ...written.filter((text) => text.length >= shortestSecret).map(asItIs),
  ];
}

/** The texts that aren't known yet, and are from here on. */
export function unknown(texts: Iterable<string>, known: Set<string>): string[] {
  const more = [...new Set(texts)].filter((text) => !known.has(text));
  for (const text of more) known.add(text);
  return more;
}

/**
 * The values; each also without the white space around it, each of its lines if it has several, the texts in it if it is JSON,
 * and the password in it if it is an address.
 */
export function secretsIn(values: Iterable<string>): ReadonlySet<string> {
  const secrets = [...values]
    .flatMap((value) => [value, value.trim(), ...passwordsIn(value), ...textsIn(value)])
    .flatMap(withLines);
  return new Set(secrets.filter(({ length }) => length >= shortestSecret));
}

/**
 * A value with its quotes as they are escaped within quotes: by a shell's `set -x` and by `ls`, by Python for a shell; in SQL
 * and YAML; in CSV. Also as a server reads a header with letters beyond ASCII.
 */
function asQuoted(value: string): string[] {
  const single = ["'\\''", `'"'"'`, "''"].map((quote) => value.replaceAll("'", quote));
  const all = [...single, value.replaceAll('"', '""'), Buffer.from(value).toString("latin1")];
  return all.filter((text) => text !== value);
}

/** A value as it appears in a parsed address: whole, without its query, or as a part of the host. */
function asAddress(value: string): string[] {
  if (/^[\w.-]+$/.test(value)) return value.length < shortestPart ? [] : [value.toLowerCase()];
  if (!/^(?:https?|wss?):/i.test(value) || !URL.canParse(value)) return [];
  const { href, origin, pathname } = new URL(value);
  return [href, `${origin}${pathname}`];
}

function passwordsIn(value: string): string[] {
  const whole = value.trim();
  const address = /^(["'])(.*)\1$/s.exec(whole)?.[2] ?? whole;
  if (!/^[a-z][a-z0-9+.:-]*:\/\//i.test(address)) return [];
  const user = /^[^/]*\/\/[^/?#@:]*:([^/?#]*)@/.exec(address)?.[1] ?? [];
  const given = [...address.matchAll(/[?&]password=([^&#]*)/gi)].map(([, written = ""]) => written);
  return [user, given].flat().flatMap((written) => {
    try {
      return [written, decodeURIComponent(written.replaceAll("+", " ")), decodeURIComponent(written)];
    } catch {
      return [written];
    }
  });
}

/** The texts and numbers in a list or a map as JSON, from which expressions may take them. */
function textsIn(value: string): string[] {
  const parsed = /^\s*[[{]/.test(value) ? parseJson(value) : undefined;
  return [...leavesIn([parsed?.value ?? null])].filter(({ length }) => length >= shortestPart);
}

/** The texts and numbers in values, however deep. */
export function* leavesIn(values: readonly Json[]): Generator<string> {
  const rest = [...values];
  for (let value = rest.pop(); value !== undefined; value = rest.pop()) {
    if (typeof value === "object" && value !== null) {
      for (const item of Object.values(value)) rest.push(item);
    } else if (value !== null && typeof value !== "boolean") yield String(value);
  }
}

function withLines(value: string): string[] {
  const lines = value.split(/\r?\n/).map((line) => line.trim());
  return [value, ...(lines.length > 1 ? lines.filter((line) => line.length >= shortestPart) : [])];
}

function formsOfOne(secret: string): SecretForm[] {
  const bytes = Buffer.from(secret);
  const inJson = jsonForms(secret).flatMap((text) =>
    [0, 1, 2].map((before) => inBase64(Buffer.from(text), before)),
  );
  const hex = [...bytes.toString("hex")].map((digit) => digit + (digit > "9" ? digit.toUpperCase() : ""));
  const encoded = [hex, ...[0, 1, 2].map((before) => inBase64(bytes, before)), ...inJson];
  // Encoders break a long text into lines, so line ends are ignored.
  // A short secret in the other case would match inside words.
  const own = asItIs(secret);
  const inAnyCase = secret.length < shortestPart ? own : { ...own, units: own.units.map(inBothCases) };
  return [inAnyCase, ...encoded.map((units) => ({ units, ignored: "\r\n" }))];
}

/** A letter whose other case is longer stays as it is. */
function inBothCases(unit: string): string {
  const all = [unit, unit.toLowerCase(), unit.toUpperCase()].filter(({ length }) => length === 1);
  return [...new Set(all)].join("");
}

/** The secret as JSON escapes it, where it does: with letters beyond ASCII as they are, and as `\\u00e4`. */
function jsonForms(secret: string): string[] {
  const plain = JSON.stringify(secret).slice(1, -1);
  const ascii = plain.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return [...new Set([plain, ascii])].filter((text) => text !== secret);
}

function asItIs(secret: string): SecretForm {
  return { units: secret.split(""), ignored: "" };
}

/**
 * The Base64 characters of the bytes, when `before` bytes of the same group of three precede them. The last character
 * may contain bits of what follows, and matches any. A first character with bits of what precedes is left out: a quarter
 * of all characters would match, and each at the end of an output would be held back.
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
