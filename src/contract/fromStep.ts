import { failedStep } from "./runStatus.ts";

/** The most characters of a `from-step`. */
export const longestFromStep = 200;

/**
 * The indexes of the steps that a `from-step` may mean: the one of that name, else the one of that number, of which 1 is
 * the first. More than one where several have the name; none where no step has it.
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
 * The step that a run failed at, its index, and the `from-step` of a new run that begins with it. Undefined where none
 * failed, where a step that cleans up did, or where neither its name nor its number tells it from the others.
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
