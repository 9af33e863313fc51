import { timeLimit } from "../contract/limits.ts";
import { parseDuration } from "./duration.ts";
import type { ProblemList } from "./problemList.ts";
import type { Path } from "./yamlSource.ts";

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
