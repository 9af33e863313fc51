import { ExpressionFault, type Json, parseJson, writeJson } from "../../pipeline/expression/value.ts";
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

const deepest = 500;

/** JSON in which all is masked, and which stays JSON. @returns undefined for a text that is none, or that can't be written again. */
export function maskedJson(text: string, mask: Mask): string | undefined {
  const parsed = parseJson(text);
  if (parsed === undefined) return undefined;
  try {
    return writeJson(maskedValue(parsed.value, mask));
  } catch (error) {
    if (error instanceof ExpressionFault) return undefined;
    throw error;
  }
}

/**
 * A value with all texts in it masked, names of members included; a number that is masked becomes a text. What is nested deeper
 * than anybody reads is masked as a whole.
 */
export function maskedValue(value: Json, mask: Mask, depth = 0): Json {
  if (typeof value === "string") return mask.hide(value);
  if (typeof value !== "object" || value === null) {
    const shown = mask.hide(String(value));
    return shown === String(value) ? value : shown;
  }
  if (depth === deepest) return "***";
  if (Array.isArray(value)) return value.map((item: Json) => maskedValue(item, mask, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [mask.hide(name), maskedValue(item, mask, depth + 1)]),
  );
}
