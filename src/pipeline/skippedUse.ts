import { references } from "./expression/expression.ts";
import type { ContextName } from "./expression/names.ts";
import { parseText } from "./expression/parseExpression.ts";
import { hasExpression } from "./file/textPieces.ts";
import type { Pipeline } from "./pipeline.ts";

const contexts: readonly ContextName[] = ["env", "inputs", "steps", "run", "each", "this"];

/**
 * Why a run can't begin with a later step: one from there on uses the result of a step before, or one before starts a program that
 * goes on in the background. What runs in `finally` looks first
 * whether it is there.
 *
 * @param first the index of the step that the run begins with.
 * @returns undefined where nothing stands in its way.
 */
export function skippedUse(pipeline: Pipeline, first: number): string | undefined {
  const { steps, parts = [], outputs = {} } = pipeline;
  /** The part of the file itself that a step is in, however deep. */
  const outermost = (part: number | undefined): number | undefined => {
    const parent = part === undefined ? undefined : parts[part]?.parent;
    return parent === undefined ? part : outermost(parent);
  };
  const before = steps.slice(0, first).map(({ id, part }) => ({ id, part: outermost(part) }));
  const kept = steps.slice(first).filter(({ isCleanup }) => isCleanup !== true);
  const [begin] = kept;
  const within = begin === undefined ? undefined : outermost(begin.part);
  if (within !== undefined && before.some(({ part }) => part === within)) {
    return `it is a step of \`${parts[within]?.name}\`, which begins with its first step`;
  }
  const server = steps
    .slice(0, first)
    .find((step) => step.type === "cli" && step.isCleanup !== true && step.background !== undefined);
  if (server !== undefined) return `\`${server.name}\`, whose program later steps may need, would be skipped`;
  const skipped = new Set(before.map(({ id, part }) => (part === undefined ? id : parts[part]?.id)));
  const users = kept.map((step) => {
    const part = outermost(step.part);
    const { name, given, if: condition } = (part === undefined ? undefined : parts[part]) ?? {};
    return part === undefined ? { name: step.name, uses: step } : { name, uses: { given, if: condition } };
  });
  for (const { name, uses } of [...users, { name: "outputs", uses: outputs }]) {
    const used = idsIn(uses).find((id) => skipped.has(id));
    if (used !== undefined)
      return `\`${name}\` uses the result of the step \`${used}\`, which would be skipped`;
  }
  return undefined;
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
