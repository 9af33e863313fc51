import assert from "node:assert/strict";
import { runHttpStep } from "../../../src/runner/http/runHttpStep.ts";
import { outcomeOf, type StepContext, type StepOutcome } from "../../../src/runner/step/stepContext.ts";
import { pipelineOf } from "../launch/launchTestRun.ts";
import { stepContextFor } from "../step/stepContextFor.ts";

/** Runs http steps of one resource one after the other, in a project's folder. Their expressions aren't filled in. */
export async function runSteps(
  resource: object,
  steps: readonly object[],
  { root = "/", ...changes }: Partial<StepContext> = {},
): Promise<readonly StepOutcome[]> {
  const pipeline = pipelineOf({
    resources: { s: { type: "http", ...resource } },
    steps: steps.map((step) => ({ use: "s", ...step })),
  });
  const context = stepContextFor(root, changes);
  const outcomes: StepOutcome[] = [];
  for (const step of pipeline.steps) {
    assert.ok(step.type === "http");
    outcomes.push(
      await outcomeOf(runHttpStep(step, { ...context.stepContext, mask: context.stepContext.mask.ofStep() })),
    );
  }
  await context.end();
  return outcomes;
}

/** The message of each step; undefined where it succeeded. */
export async function messagesOf(...asked: Parameters<typeof runSteps>): Promise<(string | undefined)[]> {
  const outcomes = await runSteps(...asked);
  return outcomes.map((outcome) => (outcome.kind === "failed" ? outcome.message : undefined));
}
