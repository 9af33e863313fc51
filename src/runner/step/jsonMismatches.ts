import { describeNames } from "../../pipeline/expression/evaluate.ts";
import { showValue } from "../../pipeline/expression/value.ts";
import type { Mask } from "../mask/mask.ts";

export const mostMismatches = 10;

/**
 * The differences between a JSON value and what is expected, one per line: `$.items[0].price: expected 3, got 4`; at most ten.
 * Compares by subset: an object needs only the expected members; a list needs the expected length, and is compared item by item.
 */
export function describeMismatches(expected: unknown, got: unknown, mask: Mask): readonly string[] {
  const lines: string[] = [];
  for (const line of mismatches(expected, got, mask, "$")) {
    lines.push(line);
    if (lines.length === mostMismatches) break;
  }
  return lines;
}

function* mismatches(expected: unknown, got: unknown, mask: Mask, path: string): Generator<string> {
  const differs = (at: string, wanted: unknown, instead: string) =>
    `${at}: expected ${showValue(wanted, mask)}, got ${instead}`;
  if (Array.isArray(expected) && Array.isArray(got)) {
    if (expected.length === got.length)
      for (const [index, item] of expected.entries())
        yield* mismatches(item, got[index], mask, `${path}[${index}]`);
    else yield differs(`${path}.length`, expected.length, showValue(got.length, mask));
  } else if (isObject(expected) && isObject(got)) {
    const first = Object.keys(expected).find((name) => !Object.hasOwn(got, name));
    for (const [name, value] of Object.entries(expected)) {
      const inner = path + member(name);
      if (Object.hasOwn(got, name)) yield* mismatches(value, got[name], mask, inner);
      else {
        const has = () => `; ${path} ${mask.hide(describeNames(Object.keys(got)))}`;
        yield differs(inner, value, `nothing${name === first ? has() : ""}`);
      }
    }
  } else if (expected !== got) yield differs(path, expected, showValue(got, mask));
}

/** How a member's name stands in a path. */
export function member(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
