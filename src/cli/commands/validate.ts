import { stdin } from "node:process";
import { exitCodes } from "../../contract/exitCodes.ts";
import { visible } from "../../contract/visible.ts";
import { parsePipeline } from "../../pipeline/parsePipeline.ts";
import { formatProblem, type Problem } from "../../pipeline/problemList.ts";
import { codeFrame } from "../codeFrame.ts";
import { readPipelineText } from "../readPipelineText.ts";
import type { Tool } from "../tool.ts";
import { type FileToValidate, filesToValidate } from "./filesToValidate.ts";

export interface ValidateOptions {
  /** What the text of standard input is called. */
  readonly stdinName: string | undefined;
}

/**
 * `pipeline validate`: all problems of pipeline files, with their places. It needs no service.
 * @throws PipelineError as `filesToValidate`.
 */
export async function validate(
  tool: Tool,
  args: readonly string[],
  { stdinName }: ValidateOptions,
): Promise<number> {
  const { output, folder } = tool;
  const named = args.filter((argument) => argument !== "-");
  const readsStdin = named.length < args.length;
  const files = readsStdin ? [await standardInput(tool, stdinName)] : [];
  if (named.length > 0 || !readsStdin) files.push(...(await filesToValidate(folder, named)));

  const told = files.map(({ path, parsed }) => ({
    path,
    ...(parsed.kind === "valid" ? { pipeline: parsed.pipeline.name } : {}),
    problems: [...problemsOf({ parsed })],
  }));
  const broken = files.filter(({ parsed }) => parsed.kind === "invalid");
  if (broken.length === 0) {
    output.result("validate", { files: told }, "");
    if (!output.json) output.note(`${counted(files.length, "pipeline file")}, no problem.`);
    return exitCodes.done;
  }
  const problems = told.flatMap((file) => file.problems).length;
  for (const file of broken) output.text(linesOf(tool, file).join("\n"));
  const of = broken.length === files.length ? "" : `${broken.length} of `;
  const message = `${counted(problems, "problem")} in ${of}${counted(files.length, "file")}.`;
  output.failure("validate", { type: "invalid-pipeline", message, next: "" }, { files: told });
  return exitCodes.problemsFound;
}

async function standardInput(tool: Tool, name: string | undefined): Promise<FileToValidate> {
  const text = await readPipelineText(stdin, tool.interrupted);
  // A text without a name of its own is no problem here: it has no file whose name it could have.
  return { path: name ?? "<stdin>", text, parsed: parsePipeline(text, name ?? "stdin.yaml") };
}

function linesOf({ output }: Tool, file: FileToValidate): string[] {
  const { style } = output.out;
  return problemsOf(file).flatMap((problem) => {
    const [place = "", message = ""] = splitAt(formatProblem(visible(file.path), problem), problem.message);
    const frame = file.text === undefined ? [] : codeFrame(file.text, problem, output.out);
    return [`${style.bold(place)}${visible(message)}`, ...frame];
  });
}

function splitAt(line: string, message: string): [string, string] {
  const at = line.length - message.length;
  return [line.slice(0, at), line.slice(at)];
}

function problemsOf({ parsed }: Pick<FileToValidate, "parsed">): readonly Problem[] {
  return parsed.kind === "invalid" ? parsed.problems : [];
}

function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
