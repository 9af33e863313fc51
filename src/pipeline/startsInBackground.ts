import { fromFailedStep } from "../contract/fromStep.ts";
import type { Step } from "./types/resourceTypes.ts";

/** Whether a step's line for the shell has an `&` that lets a program go on behind it. */
export function startsInBackground(step: Step): boolean {
  return step.type === "cli" && [step.run].flat().some((text) => /(?<![&|>\\])&(?=\s|\)|$)/.test(text));
}

/**
 * The failed step that a new run may well begin with, see `fromFailedStep`. Undefined for the first step, from which everything
 * runs again, and behind a step that starts a program in the background, which has ended with the run.
 *
 * @param steps those of the file; none where it isn't known.
 */
export function stepToGoOnAt(
  run: Parameters<typeof fromFailedStep>[0],
  steps: readonly Step[],
): ReturnType<typeof fromFailedStep> {
  const failed = fromFailedStep(run);
  if (failed === undefined || failed.index === 0) return undefined;
  return steps.slice(0, failed.index).some(startsInBackground) ? undefined : failed;
}
