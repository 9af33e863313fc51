import type { Mask } from "./mask.ts";

/** A file's bytes; where a secret is in a text, in UTF-8, UTF-16 or an encoding of single bytes, that text masked. */
export function maskedBytes(
  bytes: Uint8Array,
  mask: Pick<Mask, "hide">,
): { readonly isText: boolean; readonly content: Uint8Array | string } {
  const text = textOf(bytes);
  if (text === undefined) return { isText: false, content: bytes };
  const masked = mask.hide(text);
  return { isText: true, content: masked === text ? bytes : masked };
}

/** @returns undefined for what is no text: bytes that are no UTF-8, among which is NUL. */
function textOf(bytes: Uint8Array): string | undefined {
  const decode = (encoding: string, fatal = false) =>
    new TextDecoder(encoding, { fatal, ignoreBOM: true }).decode(bytes);
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return decode("utf-16le");
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return decode("utf-16be");
  try {
    return decode("utf-8", true);
  } catch {
    return bytes.includes(0) ? undefined : decode("windows-1252");
  }
}
