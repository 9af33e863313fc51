import type { ParsedPipeline } from "../parsePipeline.ts";
import type { Outline } from "./outline.ts";

/**
 * The step of a file that a run calls by this name: the one that stands where it stood, or another of its name.
 * @returns undefined when the file has none of this name any more.
 */
export function findStep(
  outline: Outline,
  parsed: ParsedPipeline,
  step: { readonly name: string; readonly index: number },
): Outline["steps"][number] | undefined {
  const names =
    parsed.kind === "valid"
      ? parsed.pipeline.steps.map(({ name }) => name)
      : outline.steps.map(({ name, label }) => name?.text ?? label);
  const at = names[step.index] === step.name ? step.index : names.indexOf(step.name);
  return outline.steps[at];
}
