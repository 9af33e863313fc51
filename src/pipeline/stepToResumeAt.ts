import { fromFailedStep } from "../contract/fromStep.ts";
import { type Expression, references } from "./expression/expression.ts";
import type { ContextName } from "./expression/names.ts";
import { parseExpression, parseText } from "./expression/parseExpression.ts";
import { hasExpression } from "./file/textPieces.ts";
import type { Pipeline } from "./pipeline.ts";
import { startsInBackground } from "./startsInBackground.ts";

/**
 * The failed step that a new run may well begin with, see `fromFailedStep`. Undefined for the first step, from which everything
 * runs again; after a step that starts a program in the background, which has ended with the run; and where a step from there on
 * uses the result of an earlier one.
 *
 * @param pipeline that of the file; undefined where it isn't known.
 */
export function stepToResumeAt(
  run: Parameters<typeof fromFailedStep>[0],
  pipeline: Pipeline | undefined,
): ReturnType<typeof fromFailedStep> {
  const failed = fromFailedStep(run);
  if (failed === undefined || failed.index === 0) return undefined;
  if (pipeline === undefined) return failed;
  const isLost = pipeline.steps.slice(0, failed.index).some(startsInBackground);
  return isLost || skippedUse(pipeline, failed.index) !== undefined ? undefined : failed;
}

const contexts: readonly ContextName[] = ["env", "inputs", "steps", "run", "each", "this"];

/**
 * Why a run can't begin with a step: it cleans up, is in the middle of a part, it or a later one uses an earlier one's result, or
 * an earlier one starts a program that goes on in the background. Steps of `finally` don't count: they check for a result first.
 *
 * @param first the index of the step that the run begins with.
 * @returns undefined if nothing prevents it.
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
  if (begin === undefined) return "it is a step of `finally`, which runs in the end of every run";
  const within = outermost(begin.part);
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
    return part === undefined
      ? { name: step.name, texts: step, conditions: [step.if, step.that] }
      : { name, texts: given, conditions: [condition] };
  });
  for (const { name, texts, conditions } of [...users, { name: "outputs", texts: outputs, conditions: [] }]) {
    const used = [...idsIn(texts), ...conditions.flat().flatMap(idsInCondition)].find((id) =>
      skipped.has(id),
    );
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
  return Object.entries(value).flatMap(([name, item]) => [...idsInText(name), ...idsIn(item)]);
}

function idsInText(text: string): readonly string[] {
  if (!hasExpression(text)) return [];
  const parsed = parseText(text, contexts);
  if (parsed.kind === "invalid") return [];
  return parsed.pieces.flatMap((piece) => (piece.kind === "expression" ? idsOf(piece.expression) : []));
}

function idsInCondition(text: string | undefined): readonly string[] {
  const parsed = parseExpression(text ?? "", contexts);
  return parsed.kind === "invalid" ? [] : idsOf(parsed.expression);
}

function idsOf(expression: Expression): readonly string[] {
  return references(expression).flatMap(({ context, path: [id] }) =>
    context === "steps" && id !== undefined ? String(id.name) : [],
  );
}
