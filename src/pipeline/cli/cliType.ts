import * as z from "zod/mini";
import { checkShape } from "../checkShape.ts";
import { everyStep, nonEmpty, words } from "../fileParts.ts";
import { quoted } from "../quoted.ts";
import type { StepReading } from "../readStep.ts";
import { readExpected, readTexts, writtenText } from "../readTexts.ts";
import type { ResourceType } from "../resourceType.ts";
import type { Path } from "../yamlSource.ts";
import type { CliStep } from "./cliStep.ts";

/** The cli resource and its steps as a pipeline file writes them. */

const environment = z.record(
  z.string().check(z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "this can't name an environment variable")),
  words,
);

const aCommand = "expected a line for the shell, or a list of a program and its arguments";

export const cliResourceSchema = z.strictObject({
  type: z.literal("cli"),
  cwd: z.optional(nonEmpty),
  env: z.optional(environment),
});

export const cliStepFileSchema = z.strictObject({
  ...everyStep,
  run: z.optional(z.union([nonEmpty, z.array(words).check(z.minLength(1, aCommand))], aCommand)),
  cwd: z.optional(nonEmpty),
  env: z.optional(environment),
  expect: z.optional(
    z.strictObject({
      "exit-code": z.optional(z.int().check(z.nonnegative())),
      output: z.optional(words),
    }),
  ),
});

type CliResourceFile = z.infer<typeof cliResourceSchema>;
type CliStepFile = z.infer<typeof cliStepFileSchema>;

export const cliType: ResourceType = {
  type: "cli",
  actions: "`run`",
  stepNames: Object.keys(cliStepFileSchema.def.shape),
  standIn: { type: "cli" },
  readResource(entry, path, problems) {
    const resource = checkShape({ schema: cliResourceSchema, noun: "a cli resource" }, entry, path, problems);
    if (resource === undefined) return undefined;
    return (step, reading) => {
      const shape = { schema: cliStepFileSchema, noun: "a cli step", foreign: reading.foreignName };
      const file = checkShape(shape, step, reading.path, reading.problems);
      return file && readCliStep(file, { file: resource, path }, reading);
    };
  },
};

interface CliResource {
  readonly file: CliResourceFile;
  readonly path: Path;
}

/** A cli step with its resource's folder and environment. @returns undefined when it has no `run`. */
function readCliStep(file: CliStepFile, resource: CliResource, reading: StepReading): CliStep | undefined {
  const { path, problems, source } = reading;
  if (file.run === undefined) {
    problems.add(path, "this step does nothing; a cli step has `run`");
    return undefined;
  }
  const run =
    typeof file.run === "string"
      ? file.run
      : file.run.map((word, index) => writtenText(word, [...path, "run", index], source));
  const output = file.expect?.output;
  return {
    type: "cli",
    name: file.name ?? quoted(typeof run === "string" ? firstLine(run) : run.join(" ")),
    use: file.use,
    run,
    cwd: file.cwd ?? resource.file.cwd ?? ".",
    env: {
      ...readTexts(resource.file.env, [...resource.path, "env"], source),
      ...readTexts(file.env, [...path, "env"], source),
    },
    expect: {
      exitCode: file.expect?.["exit-code"] ?? 0,
      output: output === undefined ? undefined : readExpected(output, [...path, "expect", "output"], reading),
    },
  };
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0] ?? text;
}
