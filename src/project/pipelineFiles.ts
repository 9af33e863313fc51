import { constants } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { ServedPipelineEntry } from "../contract/pipelines.ts";
import { declaredInputs } from "../pipeline/inputs.ts";
import { formatProblem, type Place, quoted } from "../pipeline/mistakes/problem.ts";
import type { ParsedPipeline, PipelineOrProblems } from "../pipeline/pipeline.ts";
import { readEnvFile } from "./envFile.ts";
import { mostBytesRead, parseWithParts } from "./parts.ts";
import { isMissing } from "./systemErrors.ts";
import { readUtf8 } from "./utf8.ts";

/** A pipeline file of a project. */
export interface ProjectFile extends ReadPipeline {
  /** Relative to the project's root, with forward slashes. */
  readonly path: string;
  /** The pipeline's name; the file's own when it is broken. */
  readonly name: string;
}

/** The pipeline files of a project, with the problems that a file has only because of others of the project. */
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

/** The pipeline files of a project, by file name; none when the folder is gone. */
export async function projectFiles(
  root: string,
  parse?: (text: string, path: string) => ParsedPipeline,
): Promise<ProjectFile[]> {
  const folder = join(root, "pipelines");
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".yaml")).sort();
  return Promise.all(
    names.map(async (fileName) => {
      const read = await readPipelineFile(join(folder, fileName), parse);
      const { parsed } = read;
      const name = parsed.kind === "valid" ? parsed.pipeline.name : fileName.slice(0, -".yaml".length);
      return { ...read, path: `pipelines/${fileName}`, name };
    }),
  );
}

/** Adds a problem to each file whose pipeline name another file has too: the name alone would be ambiguous. */
export function withSharedNames(files: readonly ProjectFile[]): ProjectFile[] {
  return files.map((file) => {
    if (file.parsed.kind === "invalid") return file;
    const others = files.filter((other) => other.name === file.name && other !== file);
    if (others.length === 0) return file;
    const where = others.map(({ path }) => quoted(path)).join(", ");
    const problem = {
      message: `another file has the name \`${quoted(file.name)}\` as well (${where}); give each a name of its own`,
      ...file.parsed.nameAt,
    };
    return { ...file, parsed: { kind: "invalid", problems: [problem] } };
  });
}

/** What a list says of a pipeline beside its name and place; of a broken file only its problems. */
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

/** The first problems, each with its position, a line each. */
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

/**
 * Reads a pipeline file. Never throws: that it can't be read is a problem of the file too.
 * @param parse gets the text and the path.
 */
export async function readPipelineFile(
  path: string,
  parse: (text: string, path: string) => ParsedPipeline = parseWithParts,
): Promise<ReadPipeline> {
  try {
    const bytes = await readPlainFile(path);
    if (bytes === undefined) return unreadable({ message: "this is no plain file" });
    const read = readUtf8(bytes, bytes.length < mostBytesRead);
    if (read.kind === "other") return unreadable({ ...read, message: read.problem });
    return { text: read.text, parsed: parse(read.text, path) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const unread = unreadable({ message: `the file can't be read: ${why}` });
    return isMissing(error) ? { ...unread, isGone: true } : unread;
  }
}

/**
 * Reads a plain file; a named pipe would block, and a device would never end. Checked once open, so that none can take the
 * file's place in between. @returns undefined for anything else.
 */
async function readPlainFile(path: string): Promise<Uint8Array | undefined> {
  // Windows has neither the flag nor named pipes in folders.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = await file.stat();
    if (!stats.isFile()) return undefined;
    const buffer = Buffer.allocUnsafe(Math.min(stats.size, mostBytesRead));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

function unreadable({ message, line = 1, column = 1 }: { message: string } & Partial<Place>): ReadPipeline {
  return { text: undefined, parsed: { kind: "invalid", problems: [{ message, line, column }] } };
}
