import { isInWork, type Run, type Step } from "../../contract/run.ts";

/** The step that a run failed at: the one that failed, else the one in work when its time or its runner ended. */
export function failedStepOf(run: Run): { readonly index: number; readonly step: Step } | undefined {
  if (isInWork(run) || run.status === "succeeded" || run.status === "cancelled") return undefined;
  const steps = (run.steps ?? []).map((step, index) => ({ index, step }));
  return (
    steps.find(({ step }) => step.status === "failed") ??
    steps.find(({ step }) => step.status === run.status && step.startedAt !== undefined)
  );
}
