import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Step } from "../../../src/pipeline/types/resourceTypes.ts";
import { runSqlStep } from "../../../src/runner/sql/runSqlStep.ts";
import { fillIn } from "../../../src/runner/step/fillIn.ts";
import { outcomeOf, type StepContext, type StepOutcome } from "../../../src/runner/step/stepContext.ts";
import { pipelineOf } from "../launch/launchTestRun.ts";
import { stepContextFor, type TestStepContext } from "../step/stepContextFor.ts";

/** The sql steps of one run, in this process. To be disposed at the end of the test, as a run does at its own. */
export class TestSteps implements AsyncDisposable {
  readonly stepContextFor: TestStepContext;
  readonly #url: string;
  readonly #environment: Readonly<Record<string, string>>;

  constructor(
    url: string,
    root: string,
    changes: Partial<StepContext> = {},
    environment: Readonly<Record<string, string>> = {},
  ) {
    this.stepContextFor = stepContextFor(root, changes);
    this.#url = url;
    this.#environment = environment;
  }

  /** Runs a step as it would stand in a file, without its `use`. */
  run(file: object): Promise<StepOutcome> {
    const pipeline = pipelineOf({
      resources: { db: { type: "sql", url: this.#url } },
      steps: [{ use: "db", ...file }],
    });
    const [step] = pipeline.steps;
    assert.ok(step);
    return runFilled(step, this.stepContextFor.stepContext, this.#environment);
  }

  async succeeds(file: object): Promise<void> {
    assert.deepEqual(await this.run(file), { kind: "succeeded" });
  }

  async fails(file: object): Promise<string> {
    const outcome = await this.run(file);
    return outcome.kind === "failed" ? outcome.message : assert.fail("the step succeeded");
  }

  /** Runs a file of these statements. */
  async succeedsWithFile(text: string, expect: object = {}): Promise<void> {
    await this.#write(text);
    await this.succeeds({ file: "statements.sql", expect });
  }

  async failsWithFile(text: string): Promise<string> {
    await this.#write(text);
    return this.fails({ file: "statements.sql" });
  }

  #write(text: string): Promise<void> {
    return writeFile(join(this.stepContextFor.stepContext.root, "statements.sql"), text);
  }

  /** What the last of the kept files holds. */
  keptRows(): unknown {
    const file = this.stepContextFor.kept.at(-1);
    assert.equal(file?.name, "rows.json");
    return JSON.parse(String(file.content));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stepContextFor.end();
  }
}

async function runFilled(
  step: Step,
  stepContext: StepContext,
  environment: Readonly<Record<string, string>>,
): Promise<StepOutcome> {
  const filled = fillIn(step, {
    variable: (name) => environment[name],
    variablesAt: "here",
    evaluate: () => assert.fail("this step has expressions"),
  });
  assert.ok(filled.type === "sql");
  return outcomeOf(runSqlStep(filled, stepContext));
}
