import type { Step } from "../../pipeline/pipeline.ts";
import { splitReferences } from "../../pipeline/schema/environmentReference.ts";

/** A step with the environment's values in it, or the names of the variables that aren't set. */
type FilledIn =
  | { readonly kind: "filled"; readonly step: Step }
  | { readonly kind: "missing"; readonly names: readonly string[] };

export type Lookup = (name: string) => string | undefined;

/** Puts the values in place of every `${{ env.NAME }}` of a step, whatever part of it holds them. */
export function fillIn(step: Step, lookup: Lookup): FilledIn {
  const missing = new Set<string>();
  const filled = mapTexts(step, (text) => {
    const split = splitReferences(text);
    // The file's parser has refused what can't be split, so this is a text that only looks like a reference.
    if (split.kind === "invalid") return text;
    return split.pieces
      .map((piece) => {
        if (piece.kind === "words") return piece.words;
        const value = lookup(piece.name);
        if (value === undefined) missing.add(piece.name);
        return value ?? "";
      })
      .join("");
  });
  return missing.size > 0 ? { kind: "missing", names: [...missing] } : { kind: "filled", step: filled };
}

/** The names of every variable that some step refers to; their values are what is masked. */
export function referencedNames(steps: readonly Step[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const step of steps) {
    fillIn(step, (name) => {
      names.add(name);
      return "";
    });
  }
  return names;
}

function mapTexts<T>(value: T, change: (text: string) => string): T;
function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapTexts(item, change)]));
}
