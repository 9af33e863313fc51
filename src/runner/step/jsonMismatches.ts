import type { Mask } from "../mask/mask.ts";

declare global {
  interface JSON {
    /** As the engine has it, which TypeScript doesn't know yet. */
    rawJSON(text: string): unknown;
  }
}

export const mostMismatches = 10;
const longestValue = 200;

/** The differences between a JSON value and what is expected, a line each: `$.items[0].price: expected 3, got 4`. */
export function describeMismatches(expected: unknown, got: unknown, mask: Mask): readonly string[] {
  return jsonMismatches(expected, got, "$").map(
    (mismatch) =>
      `${mismatch.path}: expected ${showValue(mismatch.expected, mask)}, got ${mismatch.got === undefined ? "nothing" : showValue(mismatch.got.value, mask)}`,
  );
}

/** A value for a message, as shortened JSON. Masked before the cut, which could leave half of a secret. */
export function showValue(value: unknown, mask: Mask): string {
  const text = mask.hide(asJson(value));
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text;
}

/** With whole numbers of any size. */
export function asJson(value: unknown): string {
  try {
    return (
      JSON.stringify(value, (_, item) => (typeof item === "bigint" ? JSON.rawJSON(String(item)) : item)) ??
      "nothing"
    );
  } catch {
    // V8 parses deeper nesting than it can stringify.
    return "a value that is nested too deep to show";
  }
}

interface Mismatch {
  /** From the root `$`: `$.items[0].price`. */
  readonly path: string;
  readonly expected: unknown;
  /** Absent when there is nothing at that path. */
  readonly got?: { readonly value: unknown };
}

/**
 * Compares by subset: an object needs only the expected members; a list needs the expected length, and is compared item
 * by item. Returns at most ten mismatches.
 */
function jsonMismatches(expected: unknown, got: unknown, path: string): readonly Mismatch[] {
  if (Array.isArray(expected)) {
    if (!Array.isArray(got)) return [{ path, expected, got: { value: got } }];
    if (expected.length !== got.length) {
      return [{ path: `${path}.length`, expected: expected.length, got: { value: got.length } }];
    }
    return expected
      .flatMap((item, index) => jsonMismatches(item, got[index], `${path}[${index}]`))
      .slice(0, mostMismatches);
  }
  if (isObject(expected)) {
    if (!isObject(got)) return [{ path, expected, got: { value: got } }];
    return Object.entries(expected)
      .flatMap(([name, value]) => {
        const inner = `${path}${member(name)}`;
        return Object.hasOwn(got, name)
          ? jsonMismatches(value, got[name], inner)
          : [{ path: inner, expected: value }];
      })
      .slice(0, mostMismatches);
  }
  return expected === got ? [] : [{ path, expected, got: { value: got } }];
}

/** How a member's name stands in a path. */
export function member(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
