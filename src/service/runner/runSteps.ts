import { describeError } from "../../contract/errors.ts";
import type { Pipeline } from "../../pipeline/pipeline.ts";
import type { Step } from "../../pipeline/types/resourceTypes.ts";
import { runBrowserStep } from "./browser/runBrowserStep.ts";
import type { Message } from "./protocol.ts";
import { runCliStep } from "./runCliStep.ts";
import type { RunRecord } from "./runOutput.ts";
import { runSqlStep } from "./sql/runSqlStep.ts";
import { failed, type StepOutcome, type StepSurroundings } from "./stepContext.ts";
import { fillIn, type Lookup } from "./stepEnvironment.ts";
import { PatternFault } from "./textSearch.ts";

interface RunDeps {
  readonly surroundings: Omit<StepSurroundings, "log" | "keep">;
  readonly record: RunRecord;
  readonly lookup: Lookup;
  readonly tell: (message: Message) => void;
  readonly now: () => Date;
}

/** Runs the steps in order until one fails, and tells how each went. Tells nothing more once the run is to end. */
export async function runPipeline(pipeline: Pipeline, deps: RunDeps): Promise<void> {
  const { signal, mask } = deps.surroundings;
  for (const [index, step] of pipeline.steps.entries()) {
    deps.tell({ kind: "step-started", index, at: deps.now().toISOString() });
    const { log, keep, flush } = deps.record.step(index);
    const outcome = await runStep(step, deps.lookup, { ...deps.surroundings, log, keep }).catch(
      // A fault of ours in one step must not take the runner with it, and all that was found out so far.
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
      deps.tell({ kind: "step-stopped", index, at, status: "failed", message });
      deps.tell({ kind: "finished", outcome: "failed", message: `${step.name}: ${message}` });
      return;
    }
    deps.tell({ kind: "step-stopped", index, at, status: "succeeded" });
  }
  deps.tell({ kind: "finished", outcome: "succeeded" });
}

async function runStep(step: Step, lookup: Lookup, surroundings: StepSurroundings): Promise<StepOutcome> {
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
      return runBrowserStep(filled.step, surroundings);
    case "cli":
      return runCliStep(filled.step, surroundings);
    case "http": {
      // With its HTTP client, which takes long to load, and is for these steps alone.
      const { runHttpStep } = await import("./runHttpStep.ts");
      return runHttpStep(filled.step, surroundings);
    }
    case "sql":
      return runSqlStep(filled.step, surroundings);
    default:
      return filled.step satisfies never;
  }
}
