import { references } from "./expression/expression.ts";
import type { ContextName } from "./expression/names.ts";
import { parseText } from "./expression/parseExpression.ts";
import { hasExpression } from "./file/textPieces.ts";
import type { Pipeline } from "./pipeline.ts";

const contexts: readonly ContextName[] = ["env", "inputs", "steps", "run", "each", "this"];

/**
 * Why a run can't begin with a later step: one from there on uses the result of a step before. What runs in `finally` looks first
 * whether it is there.
 *
 * @param first the index of the step that the run begins with.
 * @returns undefined where nothing stands in its way.
 */
export function skippedUse({ steps, parts = [], outputs = {} }: Pipeline, first: number): string | undefined {
  const skipped = new Set(
    steps.slice(0, first).flatMap(({ id, part }) => (id !== undefined && part === undefined ? id : [])),
  );
  const kept = steps.slice(first).filter(({ isCleanup }) => isCleanup !== true);
  const partOf = (index: number | undefined): number | undefined => {
    const part = index === undefined ? undefined : parts[index];
    return part?.parent === undefined ? index : partOf(part.parent);
  };
  const keptParts = new Set(kept.map(({ part }) => partOf(part)));
  parts.forEach(({ id, parent }, index) => {
    if (id !== undefined && parent === undefined && !keptParts.has(index)) skipped.add(id);
  });
  const begun = keptParts
    .values()
    .find((index) => index !== undefined && steps.slice(0, first).some(({ part }) => partOf(part) === index));
  if (begun !== undefined)
    return `it is within the part \`${parts[begun]?.name}\`, which begins with its first step`;
  for (const step of kept) {
    const used = idsIn(step).find((id) => skipped.has(id));
    if (used !== undefined && step.part === undefined)
      return `\`${step.name}\` uses the result of the step \`${used}\`, which it would skip`;
  }
  for (const index of keptParts) {
    const part = index === undefined ? undefined : parts[index];
    const used = part && idsIn([part.given, part.if && `\${{ ${part.if} }}`]).find((id) => skipped.has(id));
    if (used !== undefined)
      return `\`${part?.name}\` uses the result of the step \`${used}\`, which it would skip`;
  }
  const used = idsIn(outputs).find((id) => skipped.has(id));
  return used === undefined
    ? undefined
    : `\`outputs\` uses the result of the step \`${used}\`, which it would skip`;
}

/** The ids whose results the texts of a value read. */
function idsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return idsInText(value);
  if (Array.isArray(value)) return value.flatMap(idsIn);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => {
    const isExpression = name === "if" || name === "that";
    const texts = isExpression ? [item].flat().map((text) => `\${{ ${text} }}`) : item;
    return [...idsInText(name), ...idsIn(texts)];
  });
}

function idsInText(text: string): readonly string[] {
  if (!hasExpression(text)) return [];
  const parsed = parseText(text, contexts);
  if (parsed.kind === "invalid") return [];
  return parsed.pieces.flatMap((piece) =>
    piece.kind === "expression"
      ? references(piece.expression).flatMap(({ context, path: [id] }) =>
          context === "steps" && id !== undefined ? String(id.name) : [],
        )
      : [],
  );
}
