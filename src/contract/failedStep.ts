import { isActive, type Run, type Step } from "./run.ts";

/**
 * The step that a run failed at, and where it stands in the run: the one that failed, else the one that was in work when
 * the run's time or its runner ended. None of a run that is in work, has succeeded or was cancelled.
 */
export function failedStep(
  run: Pick<Run, "status" | "stoppedAt" | "steps">,
): { readonly index: number; readonly step: Step } | undefined {
  if (isActive(run) || run.status === "succeeded" || run.status === "cancelled") return undefined;
  const steps = run.steps ?? [];
  const failed = steps.findIndex(({ status }) => status === "failed");
  // A step that a run's end has cut off is called as the run, or, by this project's service, `stopped`.
  const cutOff = steps.findIndex(({ status }) => status === run.status || status === "stopped");
  const index = failed === -1 ? cutOff : failed;
  const step = steps[index];
  return step === undefined ? undefined : { index, step };
}
