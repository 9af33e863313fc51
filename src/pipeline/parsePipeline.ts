import { timeLimit } from "../contract/limits.ts";
import { checkExpressions } from "./checkExpressions.ts";
import { readDeclarations } from "./declaredInputs.ts";
import { checkShape, isMap } from "./file/checkShape.ts";
import { parseDuration } from "./file/duration.ts";
import { ProblemList } from "./file/problemList.ts";
import { checkNumbers, leadsOut } from "./file/readValues.ts";
import { type Path, problemOfSize, readYaml, type YamlSource } from "./file/yamlSource.ts";
import { knownNames } from "./knownNames.ts";
import { inOrder, type Place, type Problem, quoted } from "./mistakes/problem.ts";
import { type ParsedFile, type PartFiles, partFiles, type ReadPart } from "./partFiles.ts";
import { isName, type ParsedPipeline, type Pipeline } from "./pipeline.ts";
import { isField, outlineSchema } from "./pipelineFile.ts";
import { readResources } from "./readResources.ts";
import { PlannedSteps } from "./readSteps.ts";

/**
 * Parses a pipeline file with its parts, or returns all its problems. Never throws.
 *
 * @param fileName the file's name or path; its base name without the extension is the pipeline's default name.
 * @param readPart reads the files that it includes. Where it returns undefined, their steps are neither checked nor run.
 * @param isThere whether there is a file at a path in the project's folder, for a warning.
 */
export function parsePipeline(
  text: string,
  fileName: string,
  readPart: ReadPart = () => undefined,
  isThere: (path: string) => boolean = () => true,
): ParsedPipeline {
  const { parsed } = parseFile(text, fileName, partFiles(readPart, parseFile, isThere));
  return parsed;
}

function parseFile(text: string, fileName: string, files: PartFiles): ParsedFile {
  const problem = problemOfSize(text);
  if (problem !== undefined) {
    return { parsed: invalid([{ message: `the file ${problem}`, line: 1, column: 1 }]), source: undefined };
  }
  // Editors don't count a byte-order mark as a column.
  const source = readYaml(text.replace(/^\uFEFF/, ""), isField);
  if (source.kind === "invalid") return { parsed: invalid(source.problems), source: undefined };
  const problems = new ProblemList(source);
  const warnings = new ProblemList(source);
  const pipeline = readFile(source, fileName, files, { problems, warnings });
  if (pipeline === undefined || problems.sorted().length > 0)
    return { parsed: invalid(problems.sorted()), source };
  warnOfMissing(pipeline, files, { problems, warnings });
  const parts = new Map(files.texts);
  const places = { nameAt: fieldAt("name", source), envFileAt: fieldAt("env-file", source) };
  return { parsed: { kind: "valid", pipeline, warnings: warnings.sorted(), parts, ...places }, source };
}

/** Warns of files that aren't there, unless a program may make them first. */
function warnOfMissing(
  { steps }: Pipeline,
  { isThere }: PartFiles,
  { problems, warnings }: Readonly<Record<"problems" | "warnings", ProblemList>>,
): void {
  if (steps.some((step) => step.type === "cli" && step.background === undefined)) return;
  for (const { path, at } of problems.files)
    if (!isThere(path))
      warnings.add(at, `\`${quoted(path)}\` isn't in the project's folder, and no step makes it`);
}

function fieldAt(name: string, { value, place }: YamlSource): Place {
  return isMap(value) && value[name] !== undefined ? place([name]) : { line: 1, column: 1 };
}

function readFile(
  source: YamlSource,
  fileName: string,
  files: PartFiles,
  { problems, warnings }: Readonly<Record<"problems" | "warnings", ProblemList>>,
): Pipeline | undefined {
  const { value } = source;
  if (!isMap(value)) {
    problems.add(
      [],
      value === null ? "the file is empty; a pipeline has `steps`" : "expected a map with `steps`",
    );
    return undefined;
  }
  const foreign = (name: string) => nameOfJob(name, value[name]);
  const outline = checkShape({ schema: outlineSchema, noun: "a pipeline", foreign }, value, [], problems);
  const inputs = readDeclarations(value["inputs"], { source, problems });
  const resources = readResources(value["resources"], problems);
  const planned = new PlannedSteps(files);
  planned.readFile(value, { source, problems, resources, depth: 0 });
  checkNumbers(value["outputs"], ["outputs"], { source, problems });
  checkExpressions(value, knownNames(value, inputs, files, problems), problems, warnings);
  if (outline === undefined) return undefined;
  const timeLimitSeconds = timeLimitOf(outline["time-limit"], problems);
  warnOfTimes(value, timeLimitSeconds, warnings);
  const own = [...(resources?.values() ?? [])].flatMap((resource) =>
    resource.kind === "usable" ? [{ name: resource.name, type: resource.type.type }] : [],
  );
  const others = [...planned.resources.values()].filter(
    ({ name, type }) => !own.some((known) => known.name === name && known.type === type),
  );
  const cleanupMilliseconds = cleanupOf(outline, planned.cleanup.length > 0, timeLimitSeconds, problems);
  return {
    name: nameOf(outline.name, fileName, problems),
    ...(outline.tags && { tags: outline.tags }),
    timeLimitSeconds,
    envFile: envFileOf(outline["env-file"], problems),
    ...(outline.unmasked && { unmasked: outline.unmasked }),
    resources: [...own, ...others],
    ...(inputs.length > 0 && { inputs }),
    ...(planned.parts.length > 0 && { parts: planned.parts }),
    steps: [...planned.steps, ...planned.cleanup],
    ...(cleanupMilliseconds !== undefined && { cleanupMilliseconds }),
    ...(outline.outputs && { outputs: outline.outputs }),
  };
}

/** Warns of a step's times that are longer than the run's time limit, which ends the run before. */
function warnOfTimes(file: Readonly<Record<string, unknown>>, limit: number, warnings: ProblemList): void {
  const warn = (written: unknown, path: Path) => {
    const isTime = typeof written === "string" || typeof written === "number";
    if (isTime && (parseDuration(written) ?? 0) > limit * 1000)
      warnings.add(path, `the run ends after ${limit}s: set \`time-limit\` to more`);
  };
  for (const list of ["steps", "finally"]) {
    for (const [index, step] of [file[list]].flat().entries()) {
      if (!isMap(step)) continue;
      warn(step["timeout"], [list, index, "timeout"]);
      if (isMap(step["retry"])) warn(step["retry"]["for"], [list, index, "retry", "for"]);
    }
  }
}

/** Explains the name of a job, which in other tools is at the top of the file. */
function nameOfJob(name: string, entry: unknown): string | undefined {
  return isMap(entry) &&
    ["script", "stage", "steps", "commands", "cmds", "run"].some((field) => field in entry)
    ? `a pipeline has no jobs: what \`${quoted(name)}\` does is a part of \`steps\`, or a pipeline file of its own`
    : undefined;
}

const cleanupByDefault = 5000;

/** How long the cleanup may take, within the time limit; undefined where there is none. */
function cleanupOf(
  outline: { readonly "finally-limit"?: string | number | undefined },
  hasCleanup: boolean,
  timeLimitSeconds: number,
  problems: ProblemList,
): number | undefined {
  const written = outline["finally-limit"];
  if (!hasCleanup) {
    if (written !== undefined)
      problems.addToName(["finally-limit"], "there is no `finally` that it could limit");
    return undefined;
  }
  const milliseconds = written === undefined ? cleanupByDefault : (parseDuration(written) ?? 0);
  if (milliseconds < 1 || milliseconds >= timeLimitSeconds * 1000) {
    const limit = `${timeLimitSeconds}s`;
    // The default time limit is long enough, so this one is written.
    problems.add(
      written === undefined ? ["time-limit"] : ["finally-limit"],
      written === undefined
        ? `\`finally\`, here or in a part, takes ${cleanupByDefault / 1000}s of the time limit, which is ${limit}: set \`finally-limit\``
        : `\`finally-limit\` is a part of the time limit, so it is shorter than ${limit}`,
    );
  }
  return milliseconds;
}

function nameOf(written: string | undefined, fileName: string, problems: ProblemList): string {
  const name = written ?? baseName(fileName);
  if (isName(name)) return name;
  const rule = "begins with a letter or digit and goes on with letters, digits, `.`, `_` and `-`";
  if (written === undefined) {
    problems.add(
      [],
      `the file's name, \`${quoted(name)}\`, can't be the pipeline's: a name ${rule}; give it a \`name\``,
    );
  } else {
    problems.add(["name"], `\`${quoted(name)}\` can't be a pipeline's name: it ${rule}`);
  }
  return name;
}

function timeLimitOf(written: string | number | undefined, problems: ProblemList): number {
  if (written === undefined) return timeLimit.byDefault;
  const seconds = (parseDuration(written) ?? Number.NaN) / 1000;
  if (!Number.isInteger(seconds) || seconds < 1) {
    problems.add(["time-limit"], "a time limit is a whole number of seconds, at least 1");
  } else if (seconds > timeLimit.atMost) {
    problems.add(["time-limit"], `a run may take at most 1h (${timeLimit.atMost} seconds)`);
  }
  return seconds;
}

function envFileOf(written: string | undefined, problems: ProblemList): string | undefined {
  if (written !== undefined && leadsOut(written)) {
    problems.add(
      ["env-file"],
      "this leads out of the project's folder; name a file inside it, such as `.env`",
    );
  }
  return written;
}

function baseName(fileName: string): string {
  const name = fileName.split(/[/\\]/).at(-1) ?? fileName;
  return name.replace(/\.[^.]+$/, "");
}

function invalid(problems: readonly Problem[]): ParsedPipeline {
  const [first = { message: "the file can't be read", line: 1, column: 1 }, ...others] = inOrder(problems);
  return { kind: "invalid", problems: [first, ...others] };
}
