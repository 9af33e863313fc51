import type { FieldTexts } from "./fieldText.ts";
import { everyStepTexts, expectedText, typeText } from "./pipelineTexts.ts";

/** A resource of type cli. */
export const cliResourceTexts: FieldTexts = {
  type: typeText,
  cwd: {
    meaning: "The folder in which programs run, against the project's folder.",
    byDefault: "`.`",
    values: ["."],
  },
  env: {
    meaning: "Environment variables of the programs. A step's own of the same name wins.",
    byDefault: "none",
  },
};

/** A step that uses such a resource. */
export const cliStepTexts: FieldTexts = {
  ...everyStepTexts,
  run: {
    meaning:
      "What to run. A text is lines for the shell, and the step is over at the first line that fails; a list is a program and its arguments, with no shell between.",
  },
  cwd: {
    meaning: "The folder in which it runs, against the project's folder.",
    byDefault: "the resource's, else `.`",
    values: ["."],
  },
  env: {
    meaning: "Environment variables of the program. They win over the resource's of the same name.",
    byDefault: "the resource's",
  },
  expect: {
    meaning: "How the program has to end; otherwise the step fails.",
    byDefault: "an exit code of `0`",
  },
  "expect.exit-code": {
    meaning: "The program's exit code.",
    byDefault: "`0`",
    bounds: "a whole number, 0 or more",
    values: ["0", "1"],
  },
  "expect.output": {
    meaning: `What standard output or standard error holds: ${expectedText}.`,
    byDefault: "none",
  },
};
