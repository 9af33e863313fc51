import { constants, existsSync, statSync } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describeError } from "../contract/errors.ts";
import { fromFailedStep } from "../contract/fromStep.ts";
import { largestFile } from "../contract/limits.ts";
import type { ServedPipelineEntry } from "../contract/pipelines.ts";
import type { Run } from "../contract/run.ts";
import { declaredInputs } from "../pipeline/inputs.ts";
import { formatProblem, type Place, quoted } from "../pipeline/mistakes/problem.ts";
import { parsePipeline } from "../pipeline/parsePipeline.ts";
import type { ReadPart } from "../pipeline/partFiles.ts";
import type { ParsedPipeline, PipelineOrProblems } from "../pipeline/pipeline.ts";
import { stepToResumeAt } from "../pipeline/stepToResumeAt.ts";
import { readEnvFile } from "./envFile.ts";
import { pipelineFileName, readProjectFile, readUtf8 } from "./projectFile.ts";
import { isMissing } from "./systemErrors.ts";

/** A pipeline file of a project. */
export interface ProjectFile extends ReadPipeline {
  /** Relative to the project's root, with forward slashes. */
  readonly path: string;
  /** The pipeline's name; the file's own when it is broken. */
  readonly name: string;
}

/** The pipeline files of a project, with the problems that a file has only because of others in the project. */
export async function checkedFiles(
  ...[root, parse]: Parameters<typeof projectFiles>
): Promise<ProjectFile[]> {
  const files = withSharedNames(await projectFiles(root, parse));
  return Promise.all(files.map(async (file) => ({ ...file, parsed: await withEnvFile(root, file.parsed) })));
}

/** The pipeline files of a project as lists show them, broken ones too. */
export async function listedFiles(root: string): Promise<Omit<ServedPipelineEntry, "project">[]> {
  return (await checkedFiles(root)).map(({ name, path, parsed }) => ({
    name,
    path,
    ...listedFacts(path, parsed),
  }));
}

/** Adds a problem to a file whose `env-file` can't be read, since its run would fail before the first step. */
export async function withEnvFile(root: string, parsed: ParsedPipeline): Promise<ParsedPipeline> {
  if (parsed.kind === "invalid") return parsed;
  const read = await readEnvFile({ root, pipeline: parsed.pipeline });
  if (read.kind === "read") return parsed;
  return { kind: "invalid", problems: [{ message: read.message, ...parsed.envFileAt }] };
}

/** The pipeline files of a project that define a pipeline of a name: more than one where its name is shared. */
export async function filesNamed(root: string, name: string): Promise<ProjectFile[]> {
  const named = (files: readonly ProjectFile[]) => files.filter((file) => file.name === name);
  const found = named(await projectFiles(root, parseWithParts, mayDefine(name)));
  // YAML has other ways to write a name.
  return found.length > 0 ? found : named(await projectFiles(root));
}

/** A quick check of which files may define a pipeline of a name: parsing a file takes far longer than searching its text. */
export function mayDefine(name: string) {
  return (fileName: string, text: string) => fileName === `${name}.yaml` || mayBeNamed(text, name);
}

function mayBeNamed(text: string, name: string): boolean {
  const [, ...behind] = text.split(/name["']?\s*:/);
  return behind.some((rest) => rest.slice(0, name.length + 100).includes(name));
}

/**
 * The pipeline files of a project that may be meant, by file name; none when the folder is gone. Between two files, this process
 * does other work that is waiting, since the folder may be large.
 */
export async function projectFiles(
  root: string,
  parse: Parse = parseWithParts,
  mayBeMeant: (fileName: string, text: string) => boolean = () => true,
): Promise<ProjectFile[]> {
  const folder = join(root, "pipelines");
  const names = (await readdir(folder).catch(() => [])).filter((name) => pipelineFileName.test(name)).sort();
  const files: ProjectFile[] = [];
  for (let at = 0; at < names.length; at += mostAtOnce) {
    const some = names.slice(at, at + mostAtOnce);
    const read = await Promise.all(some.map((fileName) => readText(join(folder, fileName))));
    for (const [index, fileName] of some.entries()) {
      const file = read[index];
      if (file === undefined || !mayBeMeant(fileName, file.text ?? "")) continue;
      const parsed = file.parsed ?? parsedOf(file.text, join(folder, fileName), parse);
      const name = parsed.kind === "valid" ? parsed.pipeline.name : fileName.slice(0, -".yaml".length);
      files.push({ ...file, parsed, path: `pipelines/${fileName}`, name });
      await setImmediate();
    }
  }
  return files;
}

/** How many files are read at once: more would take more memory and no less time. */
const mostAtOnce = 32;

/** Adds a problem to each file whose pipeline name another file has too: the name alone would be ambiguous. */
export function withSharedNames(files: readonly ProjectFile[]): ProjectFile[] {
  const byName = Map.groupBy(files, ({ name }) => name);
  return files.map((file) => {
    if (file.parsed.kind === "invalid") return file;
    const others = (byName.get(file.name) ?? []).filter((other) => other !== file);
    if (others.length === 0) return file;
    const where = others.map(({ path }) => quoted(path)).join(", ");
    const problem = {
      message: `another file has the name \`${quoted(file.name)}\` as well (${where}); give each a name of its own`,
      ...file.parsed.nameAt,
    };
    return { ...file, parsed: { kind: "invalid", problems: [problem] } };
  });
}

/** What a list says of a pipeline besides its name and path; for a broken file, only its problems. */
export function listedFacts(
  path: string,
  parsed: PipelineOrProblems,
): Omit<ServedPipelineEntry, "name" | "project" | "path"> {
  if (parsed.kind === "invalid") {
    return { resourceTypes: [], inputs: [], tags: [], problem: problemsOf(path, parsed) };
  }
  const { pipeline } = parsed;
  return {
    resourceTypes: [...new Set(pipeline.steps.map((step) => step.type))].sort(),
    inputs: declaredInputs(pipeline),
    tags: [...(pipeline.tags ?? [])],
  };
}

/** The first problems, each with its position, one per line. */
export function problemsOf(path: string, { problems }: Extract<ParsedPipeline, { kind: "invalid" }>): string {
  const shown = problems.slice(0, mostProblems).map((problem) => formatProblem(path, problem));
  const more = problems.length > shown.length ? [`and ${problems.length - shown.length} more`] : [];
  return [...shown, ...more].join("\n");
}

const mostProblems = 50;

/** A pipeline file's content. `text` is undefined when it can't be read. */
export interface ReadPipeline {
  readonly text: string | undefined;
  readonly parsed: ParsedPipeline;
  /** Whether the file was removed. */
  readonly isGone?: boolean;
}

/** @param path absolute. */
type Parse = (text: string, path: string) => ParsedPipeline;

/** Reads a pipeline file. Never throws: that it can't be read is a problem of the file too. */
export async function readPipelineFile(path: string, parse: Parse = parseWithParts): Promise<ReadPipeline> {
  const read = await readText(path);
  return { ...read, parsed: read.parsed ?? parsedOf(read.text, path, parse) };
}

/** Never throws: a fault at one file must not hide the others. */
function parsedOf(text: string, path: string, parse: Parse): ParsedPipeline {
  try {
    return parse(text, path);
  } catch (error) {
    return unreadable({ message: `the file can't be read: ${describeError(error)}` }).parsed;
  }
}

/** A file's text, or why it has none. */
type ReadText =
  | { readonly text: string; readonly parsed?: undefined }
  | (ReadPipeline & { readonly text: undefined });

async function readText(path: string): Promise<ReadText> {
  try {
    const bytes = await readPlainFile(path);
    if (typeof bytes === "string") return unreadable({ message: bytes });
    const read = readUtf8(bytes);
    return read.kind === "text" ? { text: read.text } : unreadable({ ...read, message: read.problem });
  } catch (error) {
    const unread = unreadable({ message: `the file can't be read: ${describeError(error)}` });
    return isMissing(error) ? { ...unread, isGone: true } : unread;
  }
}

/**
 * Reads a plain file; a named pipe would block, and a device would never end. Checked once open, so that none can take the
 * file's place in between. @returns why it isn't read for anything else, and for one that no parser would take.
 */
async function readPlainFile(path: string): Promise<Uint8Array | string> {
  // Windows has neither the flag nor named pipes in folders.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = await file.stat();
    if (!stats.isFile()) return "this is no plain file";
    if (stats.size >= mostBytesRead) return "this file is larger than 1 MiB, the most that is read";
    const buffer = Buffer.allocUnsafe(stats.size);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

function unreadable({ message, line = 1, column = 1 }: { message: string } & Partial<Place>) {
  return {
    text: undefined,
    parsed: { kind: "invalid", problems: [{ message, line, column }] },
  } satisfies ReadPipeline;
}

/** Enough of a longer text for the parser to reject it as too long: at most three bytes per character. */
export const mostBytesRead = 3 * largestFile + 1;

/** Parses a pipeline file with the parts that it includes, which are read now. @param path absolute. */
export function parseWithParts(text: string, path: string): ParsedPipeline {
  let found: string | undefined;
  const root = () => (found ??= projectAround(path));
  return parsePipeline(
    text,
    path,
    (part) => readPart(root(), part),
    (file) => existsSync(join(root(), file)),
  );
}

/** Whether a text may include others, so that what it means depends on more than itself. */
export function mayInclude(text: string): boolean {
  return /\binclude\b/.test(text);
}

/** The nearest folder above a file that holds a folder `pipelines`; without one, that of the file. */
function projectAround(path: string): string {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if (statSync(join(folder, "pipelines"), { throwIfNoEntry: false })?.isDirectory() === true) return folder;
    if (folder === dirname(folder)) return dirname(path);
  }
}

/** Reads a file that may be a part. @param path relative to the project's folder. */
export function readPart(root: string, path: string): ReturnType<ReadPart> {
  return readProjectFile(root, path, mostBytesRead);
}

/** `stepToResumeAt` of a run, by its pipeline's file as it is now. @param root its project's folder; undefined if not here. */
export async function resumeAt(
  run: Run,
  root: string | undefined,
): Promise<ReturnType<typeof stepToResumeAt>> {
  if (run.pipeline === undefined || fromFailedStep(run) === undefined) return undefined;
  const [file] = root === undefined ? [] : await filesNamed(root, run.pipeline);
  return stepToResumeAt(run, file?.parsed.kind === "valid" ? file.parsed.pipeline : undefined);
}
