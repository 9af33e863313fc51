import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { open, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { spawn } from "cross-spawn";
import { describeExpectation, outputs } from "../../pipeline/file/expectation.ts";
import type { CliStep } from "../../pipeline/types/cli.ts";
import { codeOf, isMissing } from "../../project/systemErrors.ts";
import { duration } from "../../text/time.ts";
import { PatternFault } from "../output/textSearch.ts";
import { runMarker } from "../processes/processTable.ts";
import { failed, type StepContext, type StepOutcome, succeeded } from "../step/stepContext.ts";
import { onPath } from "../step/stepEnvironment.ts";
import { type Command, commandOf } from "./command.ts";
import { CommandOutput, type ExpectedOutput } from "./commandOutput.ts";
import { keepFiles } from "./keepFiles.ts";
import { type Outputs, openOutputs } from "./openOutputs.ts";
import { endAfterTimeout, endProgram, howItEnded, isRunning, type Program, Readiness } from "./program.ts";

/**
 * Runs the step's program and waits for its exit or, with `background`, until it is ready. Programs that are left running may
 * serve later steps, and are ended with the run.
 */
export async function runCliStep(step: CliStep, stepContext: StepContext): Promise<StepOutcome> {
  const folder = resolve(stepContext.root, step.cwd);
  stepContext.log.note(describeRun(step.run));
  if (namesNode(step.run)) stepContext.log.note(`node is ${stepContext.node}`);
  const began = performance.now();
  const marker = stepContext.environment[runMarker];
  const environment = {
    ...stepContext.environment,
    ...step.env,
    ...(marker === undefined ? {} : { [runMarker]: marker }),
  };
  const readiness = step.background && new Readiness(step.background);
  const unfitReason = await readiness?.unfitReason(stepContext.signal);
  if (unfitReason !== undefined) return failed(unfitReason);
  const command = await commandOf(step, { ...stepContext, environment });
  const { file } = command;
  const paths = [/[/\\]/.test(file) ? file : (onPath(file, environment, stepContext.platform) ?? [])].flat();
  // The system's error doesn't say whether the program or its folder is missing.
  const unstarted = async (error: unknown): Promise<StepOutcome> =>
    failed(
      (await problemOfFolder(stepContext.root, "the project's folder")) ??
        (await problemOfFolder(folder)) ??
        (codeOf(error) === "ENOENT" ? await problemOfScripts(paths, folder) : undefined) ??
        (await problemOfProgram(file, resolve(folder, file))) ??
        describeStartProblem(command, error),
    );
  const options = {
    shell: command.isLine,
    ...(command.name === undefined ? {} : { argv0: command.name }),
    cwd: folder,
    env: environment,
    // A process group of its own, so that a script that signals its group doesn't end the runner.
    detached: stepContext.platform !== "win32",
    windowsHide: true,
  };
  let child: ChildProcess;
  let streams: Outputs | undefined;
  try {
    using opened = await openOutputs(stepContext);
    // Nobody would end a program that starts now.
    if (stepContext.signal.aborted) return failed("the run was ended before this step began");
    const stdin = step.stdin === undefined ? "ignore" : "pipe";
    child = spawn(command.file, command.words, { ...options, stdio: [stdin, ...opened.stdio] });
    if (child.pid !== undefined) streams = opened.of(child);
  } catch (error) {
    return unstarted(error);
  }
  const exited = once(child, "exit");
  if (child.pid === undefined || streams === undefined) return exited.then(unstarted, unstarted);
  stepContext.onSpawned(child.pid);
  // Ignored: a program needn't read all that it is given, or anything of it.
  child.stdin?.on("error", () => {}).end(step.stdin);
  const { mask, log, results } = stepContext;
  const expected = readiness?.expected ?? expectedOf(step);
  const output = new CommandOutput(streams, { mask, log, results, expected });
  const program: Program = { child, exited };
  let problem: string | undefined;
  // On Windows, a missing program shows only now.
  try {
    problem =
      readiness === undefined
        ? await endAfterTimeout(program, step.timeoutMilliseconds)
        : await readiness.problem(program, { output, signal: stepContext.signal });
  } catch (error) {
    if (!(error instanceof PatternFault)) return unstarted(error);
    await endProgram(program);
    throw error;
  }
  const isOver = !isRunning(child);
  if (isOver) await output.drained();
  results.take(() => output.result(child.exitCode));
  output.close();
  const time = duration(performance.now() - began);
  log.note(isOver ? `${howItEnded(child)} after ${time}` : `ready after ${time}`);
  const lines = [
    (problem === undefined ? undefined : withTail(problem, output)) ??
      (readiness === undefined
        ? await judge(step, child, { output, expected, folder, platform: stepContext.platform })
        : undefined) ??
      [],
    results.problems(),
  ].flat();
  if (step.keep !== undefined && !stepContext.signal.aborted) await keepFiles(step.keep, folder, stepContext);
  const how = () => howItEnded(child);
  if (lines.length === 0 && readiness !== undefined) stepContext.onBackground(exited.then(how, how));
  else await endProgram(program);
  return lines.length === 0 ? succeeded : failed(lines.join("\n"));
}

function expectedOf({ expect }: CliStep): readonly ExpectedOutput[] {
  return outputs.flatMap((where) => (expect[where] ?? []).map((expectation) => ({ where, expectation })));
}

/** A shell's exit code for a program that SIGPIPE has ended. */
const exitOfClosedPipe = 141;
const closedPipe =
  "a program before a pipe was ended, since the next one read no further, as `head` does; with `shell: sh` only the last one counts";

/** A shell's exit codes for a program that can't be executed or is missing, or a script whose interpreter is missing. */
const cannotRun: readonly unknown[] = [126, 127];

/** How Debian's `sh` rejects arrays, `<<<`, `<(…)`, `${v^^}`, `function` and `set -o pipefail`. */
const saysOfBash =
  /^\S*sh: \d+: (?:Syntax error: (?:"[(}]"|redirection) unexpected|Bad substitution|set: Illegal option -o)/m;
const mayBeForBash = "the system's `sh` can't read that; if it is written for bash, say `shell: bash`";

/** No-break spaces, frequent in text copied from web pages: a shell takes one for a letter. */
const noBreakSpace = /[\u00a0\u2007\u202f]/;
const looksLikeSpace =
  "what looks like a space in it is a no-break space, which a shell takes for a letter: type it anew";

interface Judged {
  readonly output: CommandOutput;
  readonly expected: readonly ExpectedOutput[];
  /** In which the program ran. */
  readonly folder: string;
  readonly platform: NodeJS.Platform;
}

/** @returns what is wrong with how the program ended and what it printed. */
async function judge(
  step: CliStep,
  end: ChildProcess,
  { output, expected, folder, platform }: Judged,
): Promise<string | undefined> {
  const { exitCode } = step.expect;
  const how = howItEnded(end);
  if (end.signalCode !== null) return withTail(how, output);
  if (end.exitCode !== exitCode) {
    const mayBePipe = typeof step.run === "string" && step.shell !== "sh" && step.run.includes("|");
    const mayBeScript =
      typeof step.run === "string" && cannotRun.includes(end.exitCode) && platform !== "win32";
    const paths = mayBeScript ? step.run.split(/[^\w./-]+/).filter((word) => word.includes("/")) : [];
    const script = await problemOfScripts(paths, folder);
    const mayBeBash = step.shell === undefined && saysOfBash.test(output.tail());
    const why =
      script ??
      (mayBePipe && end.exitCode === exitOfClosedPipe ? closedPipe : undefined) ??
      (mayBeBash ? mayBeForBash : undefined) ??
      (mayBeScript && noBreakSpace.test(step.run) ? looksLikeSpace : undefined);
    return withTail(`${how}, expected ${exitCode}${why === undefined ? "" : ` (${why})`}`, output);
  }
  const missing = expected.filter((one) => !output.isAsExpected(one));
  if (missing.length === 0) return undefined;
  const lacks = outputs.flatMap((where) => {
    const there = missing.filter((one) => one.where === where);
    const all = there.map(({ expectation }) => describeExpectation(expectation)).join(" and ");
    return there.length === 0 ? [] : `${all} in ${names[where]}`;
  });
  return withTail(`${how}, but expected ${lacks.join(", and ")}`, output);
}

const names = { output: "the output", stdout: "standard output", stderr: "standard error" } as const;

function withTail(sentence: string, output: CommandOutput): string {
  const tail = output.tail();
  return tail === "" ? `${sentence}; it printed nothing` : `${sentence}:\n${tail}`;
}

/** In bytes: no system reads more of a first line `#!`. */
const longestFirstLine = 256;

/**
 * Why a script among the paths can't be run although it exists: when the system or a shell says that there is no such file,
 * it means the script's interpreter.
 */
async function problemOfScripts(paths: readonly string[], folder: string): Promise<string | undefined> {
  for (const path of paths.map((one) => resolve(folder, one))) {
    const first = await firstLine(path).catch(() => "");
    const interpreter = /^#![ \t]*([^ \t\r]+)/.exec(first)?.[1];
    if (interpreter === undefined) continue;
    if (first.endsWith("\r"))
      return `\`${path}\` has Windows line ends (CRLF), so what its first line names isn't found: save it with LF`;
    if (!existsSync(interpreter))
      return `the interpreter \`${interpreter}\` that \`${path}\` names in its first line isn't there`;
  }
  return undefined;
}

async function firstLine(path: string): Promise<string> {
  // A named pipe would block.
  if (!(await stat(path)).isFile()) return "";
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(longestFirstLine), 0, longestFirstLine, 0);
  return buffer.toString("utf8", 0, bytesRead).split("\n", 1).join();
}

/** @param error the system's. */
export function describeStartProblem({ file }: Pick<Command, "file">, error: unknown): string {
  const code = codeOf(error);
  switch (code) {
    case "ENOENT":
      return file.includes("/") || file.includes("\\")
        ? `there is no program \`${file}\``
        : `there is no program \`${file}\` on the PATH`;
    case "EACCES":
      return `\`${file}\` may not be executed`;
    case "E2BIG":
      return `\`${file}\` can't be started: its arguments and environment are too large; give a long value in \`stdin\``;
    case "ERR_INVALID_ARG_VALUE":
      return file === ""
        ? "the name of the step's program is empty"
        : `\`${file}\` can't be started: a NUL character is in its arguments or environment`;
    default:
      return `\`${file}\` can't be started (${code ?? "for no known reason"})`;
  }
}

/** @returns what is wrong with a program that is a folder: the system says only that it may not be executed, or nothing. */
export async function problemOfProgram(file: string, path: string): Promise<string | undefined> {
  const found = /[/\\]/.test(file) ? await stat(path).catch(() => undefined) : undefined;
  return found?.isDirectory() ? `\`${file}\` is a folder, and no program` : undefined;
}

/** @returns why nothing can be started in a folder. */
export async function problemOfFolder(path: string, what = "the step's folder"): Promise<string | undefined> {
  try {
    return (await stat(path)).isDirectory() ? undefined : `${what}, ${path}, is no folder`;
  } catch (error) {
    return isMissing(error)
      ? `${what}, ${path}, doesn't exist`
      : `${what}, ${path}, can't be read (${codeOf(error)})`;
  }
}

function describeRun(run: string | readonly string[]): string {
  if (typeof run !== "string") return `$ ${run.map(asWord).join(" ")}`;
  const [first = "", ...others] = run.trim().split(/\r?\n/);
  return others.length === 0 ? `$ ${first}` : `$ ${first} … (${others.length + 1} lines)`;
}

/** Whether the step runs Node.js by name: which one that is depends on who started the run. */
function namesNode(run: string | readonly string[]): boolean {
  return /(?:^|[\s;&|(])(?:node|npm|npx)(?:\s|$)/m.test(typeof run === "string" ? run : (run[0] ?? ""));
}

export function asWord(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : JSON.stringify(word);
}
