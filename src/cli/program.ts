import { CommanderError } from "commander";
import type { Environment } from "./environment.ts";
import { addKeyWords } from "./words/keys.ts";
import { addPipelineWords } from "./words/pipelines.ts";
import { addRunWords } from "./words/run.ts";
import { addRunsWords } from "./words/runs.ts";
import { addServiceWords } from "./words/service.ts";
import { type Perform, ToolCommand } from "./words/toolCommand.ts";

export interface ProgramDeps {
  readonly version: string;
  readonly env: Environment;
  readonly perform: Perform;
}

/** The words of the command line. Each command's own code is loaded when it is called. */
export function createProgram({ version, env, perform }: ProgramDeps): ToolCommand {
  const program = new ToolCommand("pipeline", perform)
    .description("Start, follow and cancel pipeline runs.")
    .version(version, "-V, --version", "print the version")
    .option("--json", "print one JSON object on standard output")
    .option("-q, --quiet", "no progress and no prose: only results, warnings and errors")
    .option("--no-color", "no colours (also with NO_COLOR=1 or TERM=dumb)")
    .helpOption("-h, --help", "show what a command does")
    .helpCommand("help [command]", "show what a command does")
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError("(`--help` shows what there is.)");
  addRunWords(program);
  addRunsWords(program);
  addPipelineWords(program);
  addServiceWords(program, env);
  addKeyWords(program, env);
  return program;
}

/** Whether the parser itself has ended the call, having told why: help, the version, or wrong usage. */
export function isParserExit(error: unknown): error is CommanderError {
  return error instanceof CommanderError;
}
