/** One way a secret may be written in a text, after the text's escapes are decoded. */
export interface SecretForm {
  /** The UTF-16 units that match at each position. */
  readonly units: readonly string[];
  /** Characters that are skipped between positions. */
  readonly ignored: string;
}

/** Shorter values aren't masked: that would make every text unreadable. */
export const shortestSecret = 3;
/** The least length of a part of a value; shorter parts would match inside words. */
const shortestPart = 8;

/** The characters for each value in both Base64 alphabets (RFC 4648). */
const base64 = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "+-", "/_"];

/**
 * The forms of each value: as it is, without the white space around it, in hex, and in Base64 at any offset; also each line of a value of several lines, an
 * address as browsers and servers write it, and the password in an address.
 */
export function secretForms(values: Iterable<string>): readonly SecretForm[] {
  const secrets = [...values]
    .flatMap((value) => [value, value.trim(), ...passwordsIn(value)])
    .flatMap(withLines);
  const shown = [...values].flatMap((value) => asAddress(value.trim()));
  const isSecret = ({ length }: string): boolean => length >= shortestSecret;
  return [
    ...[...new Set(secrets)].filter(isSecret).flatMap(formsOf),
    ...[...new Set(shown)].filter(isSecret).map(asItIs),
  ];
}

/** A value as it appears in a parsed address: whole, without its query, or as a part of the host. */
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
  const inJson = jsonForms(secret).flatMap((text) =>
    [0, 1, 2].map((before) => inBase64(Buffer.from(text), before)),
  );
  const hex = [...bytes.toString("hex")].map((digit) => digit + (digit > "9" ? digit.toUpperCase() : ""));
  const encoded = [hex, ...[0, 1, 2].map((before) => inBase64(bytes, before)), ...inJson];
  // Encoders break a long text into lines.
  return [asItIs(secret), ...encoded.map((units) => ({ units, ignored: "\r\n" }))];
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
