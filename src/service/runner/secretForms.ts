/** A secret as it may stand in a text, once the text's escapes are read. */
export interface SecretForm {
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
