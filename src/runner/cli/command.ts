import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CliStep } from "../../pipeline/types/cli.ts";
import { runMarker } from "../processes/processTable.ts";
import { makeScratch, scratchFolder } from "../processes/scratchFolder.ts";
import type { StepContext } from "../step/stepContext.ts";
import { onPath } from "../step/stepEnvironment.ts";

/** What a step's `run` starts. */
export interface Command {
  readonly file: string;
  readonly words: readonly string[];
  readonly isLine: boolean;
  /** The program's `argv[0]`, where it isn't the file's name. */
  readonly name?: string;
}

/** The options that make a shell end at the first line that fails, and a line fail with any program of its pipe. */
const strict = ["-e", "-o", "pipefail", "-c"];
const plain = ["-e", "-c"];

/**
 * The command of a step's `run`: a list is a program and its arguments; a text is run by the program that its first line `#!`
 * names, else by the step's shell, else by the system's.
 * @param stepContext its environment is the step's own.
 */
export async function commandOf({ run, shell }: CliStep, stepContext: StepContext): Promise<Command> {
  if (typeof run !== "string") {
    const [file = "", ...words] = run;
    return { file, words, isLine: false };
  }
  const [interpreter, ...given] = interpreterOf(run);
  if (interpreter !== undefined) return scriptCommand(run, interpreter, given.join(), stepContext);
  if (shell === "bash") return { file: "bash", words: [...strict, run], isLine: false };
  if (stepContext.platform === "win32")
    return shell === "sh" ? { file: "sh", words: [...plain, run], isLine: false } : windowsLine(run);
  return shell === "sh" ? { ...system, words: [...plain, run] } : systemCommand(run, stepContext);
}

const system = { file: "/bin/sh", isLine: false } as const;

/** The program that a first line `#!` names, and the rest of the line as its one argument; empty for any other text. */
export function interpreterOf(lines: string): string[] {
  const [, interpreter, argument = ""] = /^#![ \t]*(\S+)(.*)/.exec(lines) ?? [];
  return interpreter === undefined ? [] : [interpreter, argument.trim()];
}

/** Writes the lines to a file, since an interpreter reads one. The system's `#!` passes it one argument at most. */
async function scriptCommand(
  lines: string,
  interpreter: string,
  argument: string,
  { environment, platform }: StepContext,
): Promise<Command> {
  const folder = scratchFolder(environment[runMarker] ?? "");
  await makeScratch(folder);
  const file = join(folder, `step-${process.hrtime.bigint()}`);
  await writeFile(file, lines.replaceAll("\r\n", "\n"), { mode: 0o700, flag: "wx" });
  const words = argument === "" ? [file] : [argument, file];
  if (platform !== "win32") return { file: interpreter, words, isLine: false };
  // Windows has neither `/bin/bash` nor `/usr/bin/env`, but a `bash` may be on the PATH. `env -S` splits its one argument.
  const name = interpreter.split("/").at(-1) ?? "";
  const given = argument.replace(/^(?:-S|--split-string[= ])\s*/, "").split(/\s+/);
  const [program = "", ...others] = name === "env" ? [...given, file] : [name, ...words];
  return { file: program, words: others, isLine: false };
}

const begins = /(?:^|[\n;&|({!]|\b(?:if|elif|while|until|then|do|else)\s)[ \t]*/.source;
/**
 * What people write for bash and Debian's `sh` takes for something else: `[[ … ]]`, `[ a == b ]`, `((…))`, `source` and
 * `echo -e` as commands, `&>`, and variables that only bash sets. What that `sh` can't parse, such as `<<<`, fails anyway.
 */
const forBash = new RegExp(
  [
    `${begins}(?:\\[\\[\\s|(?:\\[|test)\\s[^\\]\\n;]*\\s==\\s|\\(\\(|source\\s|echo\\s+-n?en?\\s)`,
    /&>|\$\{?(?:RANDOM|OSTYPE|BASH_SOURCE)\b|\bRANDOM\s*%/.source,
  ].join("|"),
);
/** Also for bash, but only outside of quotes: `{1..3}`, `$'…'` and `{a,b}`; not JSON, `${a:-b,c}` or a pattern's `{1,3}`. */
const forBashUnquoted = /\{\d+\.\.\d+\}|[\s=(]\$'|(?<!\$)\{(?![\d,]*\})[^\s{}"'`$;]*,[^\s{}"'`;]*\}/;

/** An escaped character, a comment, a here-document with the rest of its first line, and texts in quotes. */
const notUnquoted =
  /\\[\s\S]|(?<![^\s;&|()])#.*|(?<!<)<<-?[ \t]*\\?(["']?)([\w.-]+)\1(?![\w.-])(.*)\n(?:.*\n)*?\t*\2(?![^\n])|'[^']*'|"(?:[^"\\]|\\[\s\S])*"/g;

/** The lines without escaped characters, comments, bodies of here-documents and texts in quotes, except those with `$(…)`. */
function unquoted(lines: string): string {
  return lines.replace(notUnquoted, (part: string, _quote, _end, rest = "") => {
    if (part.startsWith("'")) return "''";
    if (part.startsWith('"')) return part.includes("$(") ? part : '""';
    return rest;
  });
}

/**
 * The command of lines that name no shell. Lines for bash are run by it, where it is installed. A pipe fails with any of its
 * programs; where `sh` has no `pipefail`, as on Debian, `bash` runs such lines under the name `sh`.
 */
function systemCommand(lines: string, { environment, platform }: StepContext): Command {
  const hasPipe = /[^|]\|[^|]|\bpipefail\b/.test(lines);
  const words = [...(hasPipe ? strict : plain), lines];
  const bash = onPath("bash", environment, platform);
  const isForBash = forBash.test(lines) || forBashUnquoted.test(unquoted(lines));
  if (bash !== undefined && isForBash) return { file: bash, words, isLine: false };
  const options = { stdio: "ignore", env: environment } as const;
  if (!hasPipe || spawnSync(system.file, [...strict, ":"], options).status === 0) return { ...system, words };
  return bash === undefined
    ? { ...system, words: [...plain, lines] }
    : { file: bash, words, isLine: false, name: "sh" };
}

/** `cmd.exe` takes only one line, so the lines are joined: what follows one that fails isn't run. */
function windowsLine(lines: string): Command {
  const commands = lines.split(/\r?\n/).filter((line) => line.trim() !== "");
  return { file: commands.join(" && "), words: [], isLine: true };
}
