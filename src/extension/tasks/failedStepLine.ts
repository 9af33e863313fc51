import { join } from "node:path";
import { projectFiles } from "../../client/pipelineFiles/projectFiles.ts";
import { failedStep } from "../../contract/failedStep.ts";
import type { Run } from "../../contract/run.ts";
import { findStep } from "../../pipeline/editing/outline.ts";
import { formatProblem } from "../../pipeline/problemList.ts";
import { analyse } from "../files/analyses.ts";
import { placeAt } from "../files/shownProblem.ts";

/** Where a run failed. */
interface FailedPlace {
  /** The pipeline file, absolute. */
  readonly file: string;
  readonly line: string;
}

/**
 * The step that a run failed at, as a line with its place in the pipeline file, which the problem matcher reads.
 * Undefined where the file isn't here, or has no such step any more.
 * @param folder what the problem matcher takes a path to be relative to; a file elsewhere is named in full.
 */
export async function failedStepLine(
  run: Run,
  root: string,
  folder: string | undefined,
): Promise<FailedPlace | undefined> {
  const failed = failedStep(run);
  if (failed === undefined) return undefined;
  const file = (await projectFiles(root)).find(({ name }) => name === run.pipeline);
  if (file?.text === undefined) return undefined;
  const { index, step } = failed;
  const { outline, parsed, text } = analyse(file.text, file.path);
  const there = findStep(outline, parsed, { name: step.name, index });
  if (there === undefined) return undefined;
  const { line, character } = placeAt(text, there.span.start);
  const message = `${step.name}: ${inShort(step.message ?? run.reason ?? run.status)}`;
  const whole = join(root, file.path);
  const path = root === folder ? file.path : whole;
  return { file: whole, line: formatProblem(path, { line: line + 1, column: character + 1, message }) };
}

/** What went wrong, and of the output that follows it the last line, which tells most. */
function inShort(message: string): string {
  const [first = "", ...others] = message.trim().split("\n");
  const last = others.at(-1)?.trim();
  return last === undefined ? first : `${first} ${last}`;
}
