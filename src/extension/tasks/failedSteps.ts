import { join } from "node:path";
import { projectFiles } from "../../client/pipelineFiles/projectFiles.ts";
import type { Run } from "../../contract/run.ts";
import { formatProblem } from "../../pipeline/problem.ts";
import { stepPlace } from "../../pipeline/stepPlace.ts";

/** A step that failed. */
export interface FailedPlace {
  /** The pipeline file, absolute. */
  readonly file: string;
  /** With its place, as the problem matcher reads it. */
  readonly line: string;
}

/**
 * The steps that failed, with their places in the pipeline file. None where the file isn't here, or has changed since.
 * @param folder what the problem matcher takes a path to be relative to; a file elsewhere is named in full.
 */
export async function failedSteps(
  run: Run,
  root: string,
  folder: string | undefined,
): Promise<FailedPlace[]> {
  const failed = (run.steps ?? []).flatMap((step, index) =>
    step.status === "failed" ? [{ index, ...step }] : [],
  );
  if (failed.length === 0) return [];
  const file = (await projectFiles(root)).find(({ name }) => name === run.pipeline);
  if (file?.text === undefined) return [];
  const { text } = file;
  const whole = join(root, file.path);
  const path = root === folder ? file.path : whole;
  return failed.flatMap(({ index, name, message = run.status }) => {
    const place = stepPlace(text, index, name);
    return place === undefined
      ? []
      : [{ file: whole, line: formatProblem(path, { ...place, message: `${name}: ${inShort(message)}` }) }];
  });
}

/** What went wrong, and of the output that follows it the last line, which tells most. */
function inShort(message: string): string {
  const [first = "", ...others] = message.trim().split("\n");
  const last = others.at(-1)?.trim();
  return last === undefined ? first : `${first} ${last}`;
}
