import { failedStep } from "./runStatus.ts";

/** The most characters of a `from-step`. */
export const longestFromStep = 200;

/**
 * The indexes of the steps that a `from-step` may mean: the step of that name, else the step of that number, counted from 1.
 * Several if the name is ambiguous; none if no step matches.
 */
export function meantSteps(steps: readonly { readonly name: string }[], fromStep: string): readonly number[] {
  const named = steps.flatMap(({ name }, index) => (name === fromStep ? [index] : []));
  if (named.length === 1) return named;
  const numbered = steps.findIndex((_, index) => String(index + 1) === fromStep);
  return numbered === -1 ? named : [numbered];
}

interface NamedStep {
  readonly name: string;
  readonly status: string;
  readonly cleanup?: true | undefined;
}

/**
 * The step that a run failed at, its index, and the `from-step` with which a new run begins there. Undefined if no step failed,
 * if the failed step is a cleanup step, or if neither its name nor its number identifies it.
 */
export function fromFailedStep(run: {
  readonly status: string;
  readonly stoppedAt?: string | undefined;
  readonly steps?: readonly NamedStep[] | undefined;
}): { readonly index: number; readonly step: NamedStep; readonly fromStep: string } | undefined {
  const failed = failedStep<NamedStep>(run);
  if (failed === undefined || failed.step.cleanup) return undefined;
  const { index, step } = failed;
  const fromStep = [step.name, String(index + 1)].find((text) => {
    const [meant, other] = meantSteps(run.steps ?? [], text);
    return meant === index && other === undefined && text !== "" && text.length <= longestFromStep;
  });
  return fromStep === undefined ? undefined : { index, step, fromStep };
}
