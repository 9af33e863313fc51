import { timeLimit } from "../contract/limits.ts";
import { parseDuration } from "./duration.ts";
import { hasReference } from "./environmentReference.ts";
import type { ProblemList } from "./problemList.ts";
import type { StepReading } from "./readStep.ts";
import { readTextExpectation, type TextExpectation } from "./textExpectation.ts";
import type { Path, YamlSource } from "./yamlSource.ts";

type Words = string | number | boolean;

/** A value of the file as text; a number or a truth value is taken as it was written. */
export function writtenText(value: Words, path: Path, source: YamlSource): string {
  return typeof value === "string" ? value : (source.written(path) ?? String(value));
}

/** A map of the file whose values are all texts. */
export function readTexts(
  values: Readonly<Record<string, Words>> | undefined,
  path: Path,
  source: YamlSource,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values ?? {}).map(([name, value]) => [name, writtenText(value, [...path, name], source)]),
  );
}

/** What a text is expected to be like; a regular expression that can't be used is a problem of the file. */
export function readExpected(value: Words, path: Path, reading: StepReading): TextExpectation | undefined {
  const text = writtenText(value, path, reading.source);
  const read = readTextExpectation(text);
  if (read.kind === "invalid") {
    reading.problems.add(path, read.problem);
    return undefined;
  }
  if (read.expectation.kind === "matches" && hasReference(text)) {
    reading.problems.add(path, "an environment variable can't be filled in inside a regular expression");
  }
  return read.expectation;
}

/** A part of the file that may say how long something may take. */
interface Timed {
  readonly file: { readonly timeout?: string | number | undefined };
  readonly path: Path;
}

/** Shorter than a run's own time limit, so that a silent server is named as the cause. */
const timeoutByDefault = 10_000;

/** The step's timeout, else its resource's, else 10 s; in milliseconds. */
export function readTimeout(step: Timed, resource: Timed, problems: ProblemList): number {
  const { file, path } = step.file.timeout === undefined ? resource : step;
  if (file.timeout === undefined) return timeoutByDefault;
  const milliseconds = parseDuration(file.timeout) ?? 0;
  if (milliseconds < 1 || milliseconds > timeLimit.atMost * 1000) {
    problems.add([...path, "timeout"], "a timeout is at least 1ms and at most 1h");
  }
  return milliseconds;
}
