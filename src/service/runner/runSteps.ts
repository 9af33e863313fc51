import { describeError } from "../../contract/errors.ts";
import type { Pipeline } from "../../pipeline/pipeline.ts";
import type { Step } from "../../pipeline/types/resourceTypes.ts";
import { runBrowserStep } from "./browser/runBrowserStep.ts";
import type { Message } from "./protocol.ts";
import { runCliStep } from "./runCliStep.ts";
import type { RunOutput } from "./runOutput.ts";
import { runSqlStep } from "./sql/runSqlStep.ts";
import { failed, type StepContext, type StepOutcome } from "./stepContext.ts";
import { fillIn, type Lookup } from "./stepEnvironment.ts";
import { PatternFault } from "./textSearch.ts";

interface RunDeps {
  readonly stepContext: Omit<StepContext, "log" | "saveArtifact">;
  readonly output: RunOutput;
  readonly lookup: Lookup;
  readonly send: (message: Message) => void;
  readonly now: () => Date;
}

/** Runs the steps in order until one fails, and sends the outcome of each. Sends nothing more once the signal is aborted. */
export async function runSteps(pipeline: Pipeline, deps: RunDeps): Promise<void> {
  const { signal, mask } = deps.stepContext;
  for (const [index, step] of pipeline.steps.entries()) {
    deps.send({ kind: "step-started", index, at: deps.now().toISOString() });
    const { log, saveArtifact, flush } = deps.output.step(index);
    const outcome = await runStep(step, deps.lookup, { ...deps.stepContext, log, saveArtifact }).catch(
      // A bug in one step must not end the runner and lose the outcomes so far.
      (error: unknown) =>
        failed(
          error instanceof PatternFault ? error.message : `this step broke off: ${describeError(error)}`,
        ),
    );
    if (signal.aborted) return;
    flush();
    const at = deps.now().toISOString();
    if (outcome.kind === "failed") {
      const message = mask.hide(outcome.message);
      deps.send({ kind: "step-stopped", index, at, status: "failed", message });
      deps.send({ kind: "finished", outcome: "failed", message: `${step.name}: ${message}` });
      return;
    }
    deps.send({ kind: "step-stopped", index, at, status: "succeeded" });
  }
  deps.send({ kind: "finished", outcome: "succeeded" });
}

/** Where each resource type runs its steps; `pipeline/types/resourceTypes.ts` says what a new type needs. */
async function runStep(step: Step, lookup: Lookup, stepContext: StepContext): Promise<StepOutcome> {
  const filled = fillIn(step, lookup);
  if (filled.kind === "missing") {
    const names = filled.names.map((name) => `\`${name}\``).join(", ");
    return failed(
      filled.names.length === 1
        ? `the environment variable ${names} isn't set where the service was started`
        : `the environment variables ${names} aren't set where the service was started`,
    );
  }
  switch (filled.step.type) {
    case "browser":
      return runBrowserStep(filled.step, stepContext);
    case "cli":
      return runCliStep(filled.step, stepContext);
    case "http": {
      // Loaded on demand: the HTTP client takes long to load.
      const { runHttpStep } = await import("./runHttpStep.ts");
      return runHttpStep(filled.step, stepContext);
    }
    case "sql":
      return runSqlStep(filled.step, stepContext);
    default:
      return filled.step satisfies never;
  }
}
