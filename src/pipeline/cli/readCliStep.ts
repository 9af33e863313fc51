import { quoted } from "../quoted.ts";
import type { StepReading } from "../readStep.ts";
import { readExpected, readTexts, writtenText } from "../readTexts.ts";
import type { Path } from "../yamlSource.ts";
import type { CliResourceFile, CliStepFile } from "./cliFile.ts";
import type { CliStep } from "./cliStep.ts";

interface CliResource {
  readonly file: CliResourceFile;
  readonly path: Path;
}

/** A cli step with its resource's folder and environment. @returns undefined when it has no `run`. */
export function readCliStep(
  file: CliStepFile,
  resource: CliResource,
  reading: StepReading,
): CliStep | undefined {
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
