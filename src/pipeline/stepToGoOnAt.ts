import { fromFailedStep } from "../contract/fromStep.ts";
import type { Pipeline } from "./pipeline.ts";
import { skippedUse } from "./skippedUse.ts";
import { startsInBackground } from "./startsInBackground.ts";

/**
 * The failed step that a new run may well begin with, see `fromFailedStep`. Undefined for the first step, from which everything
 * runs again, behind a step that starts a program in the background, which has ended with the run, and where a step from there on
 * uses the result of one before.
 *
 * @param pipeline that of the file; undefined where it isn't known.
 */
export function stepToGoOnAt(
  run: Parameters<typeof fromFailedStep>[0],
  pipeline: Pipeline | undefined,
): ReturnType<typeof fromFailedStep> {
  const failed = fromFailedStep(run);
  if (failed === undefined || failed.index === 0) return undefined;
  if (pipeline === undefined) return failed;
  const isLost = pipeline.steps.slice(0, failed.index).some(startsInBackground);
  return isLost || skippedUse(pipeline, failed.index) !== undefined ? undefined : failed;
}
