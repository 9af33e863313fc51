import { timeLimit } from "../../contract/limits.ts";
import { parseDuration } from "../schema/duration.ts";
import { hasReference } from "../schema/environmentReference.ts";
import { readTextExpectation, type TextExpectation } from "../schema/values.ts";
import type { StepReading } from "../types/resourceType.ts";
import { quoted } from "./problem.ts";
import type { ProblemList } from "./problemList.ts";
import type { Path, YamlSource } from "./yamlSource.ts";

type Words = string | number | boolean;

/** A value of the file as text; a number or boolean as it was written. */
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

/** Reads an expectation of a text. An invalid regular expression is a problem of the file. */
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

/** A part of the file that may have a `timeout`. */
interface Timed {
  readonly file: { readonly timeout?: string | number | undefined };
  readonly path: Path;
}

/** Shorter than a run's time limit, so that the message names the server that didn't answer. */
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

/** Whether a target is an absolute address; otherwise it is a path. */
export function isAbsolute(target: string): boolean {
  return /^https?:\/\//i.test(target);
}

/** Appends a path to the base URL, also one that begins with `/`: `http://host/api` and `/health` keep the `api`. */
export function joinAddress(target: string, base: string | undefined): string {
  if (base === undefined || isAbsolute(target)) return target;
  let end = base.length;
  // Trailing spaces of an address are insignificant, but not in its middle.
  while (end > 0 && base.charAt(end - 1) <= " ") end -= 1;
  while (base.charAt(end - 1) === "/") end -= 1;
  return `${base.slice(0, end)}/${target.replace(/^\/+/, "")}`;
}

/**
 * @param instead what to do instead of putting a user and password into the address; ends the message.
 * @returns undefined for a valid address.
 */
export function problemOfUrl(written: string, instead: string): string | undefined {
  if (!isAbsolute(written)) {
    return `\`${quoted(written)}\` is no address: it begins with http:// or https://`;
  }
  const url = URL.parse(written);
  if (url === null) return `\`${quoted(written)}\` is no address`;
  if (url.username !== "" || url.password !== "") {
    return `an address holds no user and password; ${instead}`;
  }
  return undefined;
}
