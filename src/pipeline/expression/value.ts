declare global {
  interface JSON {
    /** As the engine has it, which TypeScript doesn't know yet. */
    rawJSON(text: string): unknown;
  }
}

/** What an expression works with: JSON, in which a whole number beyond 2^53 is a bigint. */
export type Json = null | boolean | number | bigint | string | JsonList | JsonMap;
type JsonList = readonly Json[];
export interface JsonMap {
  readonly [name: string]: Json;
}

/** Thrown when an expression has no value. The message is for people, and may contain secrets: mask it. */
export class ExpressionFault extends Error {
  override readonly name = "ExpressionFault";
  /** Whether the reason is something that isn't there, which `exists` and `default` allow. */
  readonly isMissing: boolean;

  constructor(message: string, isMissing = false) {
    super(message);
    this.isMissing = isMissing;
  }
}

export function isList(value: Json): value is JsonList {
  return Array.isArray(value);
}

export function isMap(value: Json): value is JsonMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isNumber(value: Json): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

export function kindOf(value: Json): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return "a text";
  return isNumber(value) ? "a number" : isList(value) ? "a list" : "a map";
}

/** Ignores a byte-order mark. @returns undefined for a text that isn't JSON, or is nested too deep to read. */
export function parseJson(written: string): { readonly value: Json } | undefined {
  const text = written.replace(/^\ufeff/, "");
  try {
    // A reviver takes long, and can't be called as deep as V8 parses.
    return { value: /\d{16}/.test(text) ? JSON.parse(text, exactly) : JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Why a text isn't JSON, as the rest of a sentence whose subject is the text. */
export function notJson(text: string): string {
  if (text.trim() === "") return "is empty";
  return htmlPage.test(text) ? "is an HTML page" : "isn't JSON";
}

/** Only comments and instructions of XML may stand before a page's first tag. */
const htmlPage =
  /^\s*(?:<(?:!--(?:(?!-->)[\s\S]){0,500}--|\?(?:(?!\?>)[\s\S]){0,500}\?)>\s*){0,20}<(?:!doctype\s+)?html\b/i;

function exactly(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(Math.trunc(value))) return value;
  return parseNumber(context?.source ?? "") ?? value;
}

/** A number as JSON and the expressions write it; `+1`, `.5` and `0xff` too. @returns undefined for anything else. */
export function parseNumber(text: string): number | bigint | undefined {
  const isWhole = /^[+-]?\d+$/.test(text) || /^0[xob][\da-f]+$/i.test(text);
  const value = Number(text);
  if (isWhole && !Number.isSafeInteger(value) && text.length <= mostDigits) return BigInt(text);
  return Number.isFinite(value) && text.trim() !== "" ? value : undefined;
}

/** Reading and writing a whole number takes seconds with millions of digits. */
const mostDigits = 10_000;

/** @throws ExpressionFault for what JSON has and JavaScript doesn't, such as `1e999`: it was parsed as `Infinity`. */
export function checkNumber(value: number | bigint): void {
  if (typeof value === "number" && !Number.isFinite(value))
    throw new ExpressionFault("a number is beyond 1.8e308, too large to be compared or sent");
}

/**
 * A value as JSON, as it is sent.
 * @throws ExpressionFault for a value that is nested too deep or too large, or holds a number that is.
 */
export function writeJson(value: unknown): string {
  try {
    return JSON.stringify(value, (_, item) => {
      if (typeof item === "bigint") return JSON.rawJSON(String(item));
      if (typeof item === "number") checkNumber(item);
      return item;
    });
  } catch (error) {
    // V8 parses deeper nesting than it can stringify.
    throw error instanceof RangeError
      ? new ExpressionFault("a value is nested too deep, or too large, to be written as JSON")
      : error;
  }
}

/** The value within a text: a text as it is, all else as JSON. @throws ExpressionFault as `writeJson` does. */
export function asText(value: Json): string {
  return typeof value === "string" ? value : writeJson(value);
}

const longestShown = 200;

/** A value for a message, as shortened JSON. */
export function showValue(value: unknown, mask: { hide(text: string): string }): string {
  try {
    return shorten(writeJson(value), (text) => mask.hide(text));
  } catch (error) {
    if (error instanceof ExpressionFault) return `something that can't be shown: ${error.message}`;
    throw error;
  }
}

/** Masked before the cut, which could leave half of a secret. */
export function shorten(text: string, hide: (text: string) => string): string {
  const hidden = hide(text);
  return hidden.length > longestShown ? `${hidden.slice(0, longestShown)}…` : hidden;
}

const deepest = 500;

/** Whether two values are equal: exact and deep, numbers by their value, maps in any order. */
export function equal(one: Json, other: Json): boolean {
  return agree(one, other, false, 0);
}

/**
 * Whether a value has all that is expected, as `expect.json` compares: a map may have more members, a list has the
 * expected length.
 */
export function includes(got: Json, expected: Json): boolean {
  return agree(expected, got, true, 0);
}

function agree(expected: Json, got: Json, mayHaveMore: boolean, depth: number): boolean {
  if (depth > deepest) throw new ExpressionFault("the values are nested too deep to be compared");
  if (isNumber(expected) && isNumber(got)) {
    checkNumber(expected);
    checkNumber(got);
    return expected <= got && expected >= got;
  }
  if (isList(expected)) {
    if (!isList(got) || got.length !== expected.length) return false;
    return expected.every((item, index) => agree(item, got[index] ?? null, mayHaveMore, depth + 1));
  }
  if (isMap(expected)) {
    if (!isMap(got)) return false;
    const names = Object.keys(expected);
    if (!mayHaveMore && names.length !== Object.keys(got).length) return false;
    return names.every(
      (name) =>
        Object.hasOwn(got, name) && agree(expected[name] ?? null, got[name] ?? null, mayHaveMore, depth + 1),
    );
  }
  return expected === got;
}
