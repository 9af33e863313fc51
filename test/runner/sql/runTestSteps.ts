import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runSqlStep } from "../../../src/runner/sql/runSqlStep.ts";
import { fillIn } from "../../../src/runner/step/fillIn.ts";
import { outcomeOf, type StepContext, type StepOutcome } from "../../../src/runner/step/stepContext.ts";
import { pipelineOf } from "../launch/launchTestRun.ts";
import { stepContextFor } from "../step/stepContextFor.ts";

export type TestSteps = ReturnType<typeof testSteps>;

/** The sql steps of one run, in this process. To be disposed at the end of the test, as a run does at its own. */
export function testSteps(
  url: string,
  root: string,
  changes: Partial<StepContext> = {},
  environment: Readonly<Record<string, string>> = {},
) {
  const context = stepContextFor(root, changes);
  const write = (text: string) => writeFile(join(root, "statements.sql"), text);
  const steps = {
    stepContextFor: context,
    /** Runs a step as it would stand in a file, without its `use`. */
    run(file: object): Promise<StepOutcome> {
      const [step] = pipelineOf({
        resources: { db: { type: "sql", url } },
        steps: [{ use: "db", ...file }],
      }).steps;
      assert.ok(step);
      const filled = fillIn(step, {
        variable: (name) => environment[name],
        variablesAt: "here",
        evaluate: () => assert.fail("this step has expressions"),
      });
      assert.ok(filled.type === "sql");
      return outcomeOf(runSqlStep(filled, context.stepContext));
    },
    async succeeds(file: object): Promise<void> {
      assert.deepEqual(await steps.run(file), { kind: "succeeded" });
    },
    async fails(file: object): Promise<string> {
      const outcome = await steps.run(file);
      return outcome.kind === "failed" ? outcome.message : assert.fail("the step succeeded");
    },
    /** Runs a file of these statements. */
    async succeedsWithFile(text: string, expect: object = {}): Promise<void> {
      await write(text);
      await steps.succeeds({ file: "statements.sql", expect });
    },
    async failsWithFile(text: string): Promise<string> {
      await write(text);
      return steps.fails({ file: "statements.sql" });
    },
    /** What the last of the kept files holds. */
    keptRows(): unknown {
      const file = context.kept.at(-1);
      assert.equal(file?.name, "rows.json");
      return JSON.parse(String(file.content));
    },
    [Symbol.asyncDispose]: () => context.end(),
  };
  return steps;
}
