import { isMap } from "./checkShape.ts";
import { largestFile } from "./parsePipeline.ts";
import type { Place } from "./problem.ts";
import { readYaml } from "./yamlSource.ts";

/**
 * Where a step of a pipeline file begins.
 * @param index counts the file's steps from 0.
 * @param name what the step was called when it ran.
 * @returns undefined when the file can't be read, or has another step there by now.
 */
export function stepPlace(text: string, index: number, name: string): Place | undefined {
  if (text.length > largestFile) return undefined;
  const source = readYaml(text.replace(/^\uFEFF/, ""));
  if (source.kind === "invalid" || !isMap(source.value)) return undefined;
  const { steps } = source.value;
  const step: unknown = Array.isArray(steps) ? steps[index] : undefined;
  if (!isMap(step)) return undefined;
  const isAnother = typeof step["name"] === "string" && step["name"] !== name;
  return isAnother ? undefined : source.place(["steps", index]);
}
