import { timeLimit } from "../../contract/limits.ts";
import { quoted } from "../mistakes/problem.ts";
import { isAbsolute, joinAddress, problemOfUrl } from "./address.ts";
import { isMap } from "./checkShape.ts";
import { parseDuration } from "./duration.ts";
import { readTextExpectation } from "./expectation.ts";
import type { ProblemList } from "./problemList.ts";
import { hasExpression } from "./textPieces.ts";
import type { Address, TextExpectation, WrittenDigits } from "./values.ts";
import type { Path, YamlSource } from "./yamlSource.ts";

export interface StepReading {
  readonly path: Path;
  readonly problems: ProblemList;
  readonly source: YamlSource;
  /** The browser resources whose page is open: steps are read in the order in which they run. */
  readonly opened: Set<string>;
  /** Explains a name that a step of this type doesn't have. @returns undefined when there is nothing to add. */
  readonly foreignName: (name: string) => string | undefined;
}

type Words = string | number | boolean;

/** A value of the file as text; a number or boolean as it was written. */
export function writtenText(value: Words, path: Path, source: YamlSource): string {
  return typeof value === "string" ? value : (source.written(path) ?? String(value));
}

export function readTexts(
  values: Readonly<Record<string, Words>> | undefined,
  path: Path,
  source: YamlSource,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values ?? {}).map(([name, value]) => [name, writtenText(value, [...path, name], source)]),
  );
}

/**
 * Reads an expectation of a text, where there is one. An invalid regular expression is a problem of the file.
 * @param hintOf ends its message.
 */
export function readExpected(
  value: Words | undefined,
  path: Path,
  reading: StepReading,
  hintOf = (_text: string) => "",
): TextExpectation | undefined {
  if (value === undefined) return undefined;
  const text = writtenText(value, path, reading.source);
  const read = readTextExpectation(text);
  if (read.kind === "invalid") {
    reading.problems.add(path, read.problem + hintOf(text));
    return undefined;
  }
  if (read.expectation.kind === "matches" && hasExpression(text)) {
    reading.problems.add(path, "nothing can be filled in inside a regular expression");
  }
  return read.expectation;
}

/** Reads what a text has to hold: one expectation, or a list of them. */
export function readAllExpected(
  value: Words | readonly Words[],
  path: Path,
  reading: StepReading,
): TextExpectation[] {
  return typeof value === "object"
    ? value.flatMap((item, index) => readExpected(item, [...path, index], reading) ?? [])
    : [readExpected(value, path, reading) ?? []].flat();
}

interface Timed {
  readonly file: { readonly timeout?: string | number | undefined };
  readonly path: Path;
}

/** Shorter than a run's time limit, so that the message names the server that didn't answer. */
const timeoutByDefault = 10_000;

/** The step's timeout, else its resource's, else 10 s; in milliseconds. */
export function readTimeout(step: Timed, resource: Timed, problems: ProblemList): number {
  return writtenTimeout(step, resource, problems) ?? timeoutByDefault;
}

/** The step's timeout, else its resource's, in milliseconds; undefined if neither has one. */
export function writtenTimeout(step: Timed, resource: Timed, problems: ProblemList): number | undefined {
  const { file, path } = step.file.timeout === undefined ? resource : step;
  return file.timeout === undefined ? undefined : readTimeLimit(file.timeout, [...path, "timeout"], problems);
}

/** How long something may take, in milliseconds. */
export function readTimeLimit(written: string | number, path: Path, problems: ProblemList): number {
  const milliseconds = parseDuration(written) ?? 0;
  if (milliseconds < 1 || milliseconds > timeLimit.atMost * 1000) {
    problems.add(path, "a timeout is at least 1ms and at most 1h");
  }
  return milliseconds;
}

/** Checks the path of a file that a step reads; one with an expression is checked when the step runs. */
export function checkReadPath(path: string, at: Path, problems: ProblemList): void {
  checkFilePath(path, at, problems);
  if (!hasExpression(path)) problems.files.push({ path, at });
}

/** Checks the path of a file that a run may create. */
export function checkFilePath(path: string, at: Path, problems: ProblemList): void {
  if (!hasExpression(path) && leadsOut(path))
    problems.add(at, "this leads out of the project's folder; name a file by its path from there");
}

/**
 * Reports numbers that would not be sent or compared as they are written: YAML reads `02142` as 2142 and `12e5` as 1200000, and no
 * number keeps more than 15 digits for sure. `1.50` equals 1.5, unless it may be meant as a text, such as a version.
 */
export function checkNumbers(
  value: unknown,
  path: Path,
  reading: Pick<StepReading, "source" | "problems">,
  mayBeText = false,
): void {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) checkNumbers(item, [...path, index], reading, mayBeText);
  } else if (isMap(value)) {
    for (const [name, item] of Object.entries(value)) checkNumbers(item, [...path, name], reading, mayBeText);
  } else if (typeof value === "number") {
    const written = reading.source.written(path) ?? String(value);
    if (isAsWritten(written, value) && !(mayBeText && /\.\d*0$/.test(written))) return;
    const shown = quoted(written);
    reading.problems.addNotText(
      path,
      `this is read as the number ${value}; as a text it keeps what is written: "${shown}"`,
    );
  }
}

/**
 * How the file writes those numbers of a value that are valid JSON, but that JavaScript would write differently: some servers
 * take `12.00` and not `12`.
 */
export function writtenDigits(value: unknown, path: Path, source: YamlSource): WrittenDigits | undefined {
  if (typeof value === "number") {
    const written = source.written(path) ?? "";
    return written !== String(value) && isJsonNumber.test(written) ? written : undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const found = Object.entries(value).flatMap(([name, item], index) => {
    const digits = writtenDigits(item, [...path, Array.isArray(value) ? index : name], source);
    return digits === undefined ? [] : [[index, digits] as const];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

const isJsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[-+]?\d+)?$/i;

function isAsWritten(written: string, value: number): boolean {
  // With a point, or beyond 21 digits, it is meant as a number; `12e5` is rather the beginning of a commit's hash.
  if (/^[-+]?[\d.]+e[-+]?\d+$/i.test(written)) return /\./.test(written) || /e/.test(String(value));
  const [, sign = "", whole = "", decimals = ""] = /^(-?)(\d*)(?:\.(\d*))?$/.exec(written) ?? [];
  const digits = decimals.replace(/0+$/, "");
  if (!Number.isSafeInteger(Math.trunc(value))) return false;
  return `${sign}${whole === "" ? "0" : whole}${digits === "" ? "" : `.${digits}`}` === String(value);
}

interface Based {
  readonly file: { readonly "base-url"?: string | undefined };
  readonly path: Path;
}

/** Checks a resource's `base-url`. @param instead see `problemOfUrl`. */
export function checkBaseUrl({ file, path }: Based, instead: string, problems: ProblemList): void {
  const base = file["base-url"];
  const problem = base === undefined || hasExpression(base) ? undefined : problemOfUrl(base, instead);
  if (problem !== undefined) problems.add([...path, "base-url"], problem);
}

/** The address of a step: a whole one, or a path below its resource's `base-url`. @param instead see `problemOfUrl`. */
export function readAddress(
  target: string,
  at: Path,
  { file, path }: Based,
  instead: string,
  problems: ProblemList,
): Address {
  const address = { base: file["base-url"], target };
  const url = joinAddress(address);
  const problem = hasExpression(url) ? undefined : problemOfUrl(url, instead);
  if (problem !== undefined && isAbsolute(target)) problems.add(at, problem);
  else if (problem !== undefined && address.base === undefined) {
    problems.add(
      at,
      `\`${quoted(String(path.at(-1) ?? ""))}\` has no \`base-url\`, so this must be a whole address, beginning with http:// or https://`,
    );
  }
  return address;
}

/** Whether a path of the file leads out of the project's folder, as it is written; a link may do so as well. */
export function leadsOut(path: string): boolean {
  return /^(?:[/\\]|[A-Za-z]:)/.test(path) || path.split(/[/\\]/).includes("..");
}
