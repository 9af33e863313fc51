import { stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { addAbortSignal, type Readable } from "node:stream";
import { findProject, misnamedFiles } from "../../client/project.ts";
import { exitCodes, PipelineError } from "../../contract/errors.ts";
import { formatProblem, nearestName, type Place, type Problem } from "../../pipeline/mistakes/problem.ts";
import {
  checkedFiles,
  mostBytesRead,
  type ProjectFile,
  parseWithParts,
  type ReadPipeline,
  readPipelineFile,
} from "../../project/pipelineFiles.ts";
import { isMissing } from "../../project/systemErrors.ts";
import { replaceControlCharacters } from "../../text/controlCharacters.ts";
import { counted } from "../../text/counted.ts";
import { misnamedText, noPipelinesHere } from "../run/namedPipelines.ts";
import { cut, graphemesOf, type Terminal, widthOf } from "../terminal/terminal.ts";
import type { Tool } from "../tool.ts";

/**
 * `pipeline validate`: prints all problems of pipeline files with their positions. Needs no service.
 * @param stdinName the file name shown for standard input.
 * @throws PipelineError as `filesToValidate`.
 */
export async function validate(
  tool: Tool,
  { stdinName }: { readonly stdinName?: string },
  args: readonly string[],
): Promise<number> {
  const { output, folder } = tool;
  const named = args.filter((argument) => argument !== "-");
  const readsStdin = named.length < args.length;
  const files = readsStdin ? [await standardInput(tool, stdinName)] : [];
  if (named.length > 0 || !readsStdin) files.push(...(await filesToValidate(folder, named)));
  const misnamed = args.length === 0 ? await misnamedFiles(folder) : [];
  if (misnamed.length > 0) output.warn(misnamedText(misnamed));

  for (const { path, parsed } of files) {
    for (const warning of parsed.kind === "valid" ? parsed.warnings : [])
      output.warn(replaceControlCharacters(formatProblem(path, warning)));
  }

  const facts = files.map(validatedFacts);
  const broken = files.filter(({ parsed }) => parsed.kind === "invalid");
  if (broken.length === 0) {
    output.result("validate", { files: facts }, "");
    if (!output.json) output.note(`${counted(files.length, "pipeline file")}, no problem.`);
    return exitCodes.done;
  }
  const problems = facts.flatMap((file) => file.problems).length;
  for (const file of broken) output.text(linesOf(tool, file).join("\n"));
  const of = broken.length === files.length ? "" : `${broken.length} of `;
  const message = `${counted(problems, "problem")} in ${of}${counted(files.length, "file")}.`;
  output.failure("validate", { type: "invalid-pipeline", message, next: "" }, { files: facts });
  return exitCodes.problemsFound;
}

async function standardInput(tool: Tool, name: string | undefined): Promise<FileToValidate> {
  const text = await readPipelineText(process.stdin, tool.interrupted);
  // A pipeline without a `name` is named after its file; any name will do here.
  return { path: name ?? "<stdin>", text, parsed: parseWithParts(text, resolve(name ?? "stdin.yaml")) };
}

function linesOf({ output }: Tool, file: FileToValidate): string[] {
  const { style } = output.out;
  return problemsOf(file).flatMap((problem) => {
    const place = formatProblem(replaceControlCharacters(file.path), { ...problem, message: "" });
    const frame = file.text === undefined ? [] : codeFrame(file.text, problem, output.out);
    return [`${style.bold(place)}${replaceControlCharacters(problem.message)}`, ...frame];
  });
}

/** The facts of a validated file, as a value. */
export function validatedFacts({ path, parsed }: Pick<FileToValidate, "path" | "parsed">) {
  const problems = problemsOf({ parsed });
  return { path, ...(parsed.kind === "valid" ? { pipeline: parsed.pipeline.name } : {}), problems };
}

function problemsOf({ parsed }: Pick<FileToValidate, "parsed">): Problem[] {
  const problems = parsed.kind === "invalid" ? parsed.problems : [];
  return problems.map(({ message, line, column }) => ({ message, line, column }));
}

interface FileToValidate extends ReadPipeline {
  /** For people: the path as it was given, else relative to the working directory. */
  readonly path: string;
}

/**
 * Reads the files that the arguments name, by path or by pipeline of the project; without arguments, all files of the project. A
 * file that is named twice is read once.
 * @param folder the working directory.
 * @throws PipelineError `not-found` for an unknown argument, `usage` for a folder.
 */
async function filesToValidate(folder: string, args: readonly string[]): Promise<FileToValidate[]> {
  const project = await findProject(folder);
  if (args.length === 0 && project === undefined) throw await noPipelinesHere(folder);
  const isWanted = args.length === 0 || !args.every(isPath);
  const checked = project === undefined || !isWanted ? [] : await checkedFiles(project.root);
  const shown = (path: string) => relative(folder, join(project?.root ?? "", path));
  const own = checked.map((file) => ({ ...file, path: shown(file.path) }));
  if (args.length === 0) return own;
  const files = new Map<string, FileToValidate>();
  for (const argument of args) {
    for (const file of await filesOf(folder, argument, own)) {
      const path = resolve(folder, file.path);
      if (!files.has(path)) files.set(path, file);
    }
  }
  return [...files.values()];
}

function isPath(argument: string): boolean {
  return /[/\\]|\.ya?ml$/i.test(argument);
}

/** @param own the files of the project, whose pipelines an argument may name. */
async function filesOf(
  folder: string,
  argument: string,
  own: readonly ProjectFile[],
): Promise<FileToValidate[]> {
  const files = isPath(argument) ? [] : own;
  const named = files.filter((file) => namesOf(file).includes(argument));
  if (named.length > 0) return named;
  const path = resolve(folder, argument);
  // A file that can't be read is reported as a problem of the file.
  const stats = await stat(path).catch((error: unknown) => (isMissing(error) ? "missing" : undefined));
  if (stats === "missing") throw noSuchFile(argument, files.flatMap(namesOf));
  if (stats?.isDirectory()) {
    throw new PipelineError("usage", `${replaceControlCharacters(argument)} is a folder.`, {
      next: "Name its files, or run `pipeline validate` in it.",
    });
  }
  return [{ ...(await fileAt(path)), path: argument }];
}

/** Reads a file together with the other files of its project, since two may share a pipeline name. */
async function fileAt(path: string): Promise<ReadPipeline> {
  const folder = dirname(path);
  const siblings = basename(folder) === "pipelines" ? await checkedFiles(dirname(folder)) : [];
  return (
    siblings.find((file) => file.path === `pipelines/${basename(path)}`) ?? (await readPipelineFile(path))
  );
}

/** The names by which a person may mean a file. */
export function namesOf({ name, path }: ProjectFile): string[] {
  return [name, basename(path, ".yaml")];
}

/** @param names the pipelines of the project; none if a path was named or there is no project. */
function noSuchFile(argument: string, names: readonly string[]): PipelineError {
  const nearest = nearestName(argument, names);
  const what = names.length === 0 ? "file" : "pipeline and no file";
  return new PipelineError("not-found", `There is no ${what} ${replaceControlCharacters(argument)}.`, {
    next:
      nearest === undefined ? "Check the path." : `Did you mean \`${replaceControlCharacters(nearest)}\`?`,
  });
}

/** Reads a stream, up to the size that the parser reports as too large. @throws the signal's reason. */
async function readPipelineText(stream: Readable, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  addAbortSignal(signal, stream);
  try {
    for await (const chunk of stream) {
      const read: Buffer = Buffer.from(chunk);
      chunks.push(read);
      bytes += read.length;
      if (bytes >= mostBytesRead) break;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * A problem's line with a caret below it at the problem's column. Accounts for tabs and wide characters, and cuts a long line
 * around the caret to the terminal's width.
 * @returns the lines to print; none for an empty line.
 */
export function codeFrame(text: string, { line, column }: Place, terminal: Terminal): string[] {
  const source = text.split("\n")[line - 1]?.replace(/\r$/, "") ?? "";
  if (source.trim() === "") return [];
  const { style, columns, hasUnicode } = terminal;
  const number = String(line);
  const gutter = `${number} | `;
  const room = Math.max(shortestExcerpt, columns - gutter.length - 1);
  const mark = hasUnicode ? "…" : "~";
  const at = column - 1;
  const behind = shown(source.slice(at, at + longestContext));
  // If little follows the caret, the space goes to what precedes it.
  const most = Math.max(Math.floor(room / 2), room - widthOf(behind));
  const before = endOf(shown(source.slice(Math.max(0, at - longestContext), at)), most, mark);
  const width = widthOf(before);
  return [
    `${style.dim(gutter)}${before}${cut(behind, room - width, mark).text}`,
    `${style.dim(`${" ".repeat(number.length)} | `)}${" ".repeat(width)}${style.bad("^")}`,
  ];
}

/** In columns. A narrower excerpt would be useless. */
const shortestExcerpt = 20;
/** In UTF-16 units: wider than any terminal, and short enough to segment for each of a hundred problems. */
const longestContext = 1000;

function shown(text: string): string {
  return replaceControlCharacters(text.replaceAll("\t", "    "));
}

/** The end of a text that fits, with a mark if it was cut. */
function endOf(text: string, columns: number, mark: string): string {
  if (widthOf(text) <= columns) return text;
  let end = "";
  for (const grapheme of graphemesOf(text).reverse()) {
    if (widthOf(grapheme + end) > columns - mark.length) break;
    end = grapheme + end;
  }
  return mark + end;
}
