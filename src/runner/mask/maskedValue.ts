import { ExpressionFault, type Json, parseJson, writeJson } from "../../pipeline/expression/value.ts";
import type { Mask } from "./mask.ts";

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
