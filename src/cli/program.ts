import { CommanderError } from "commander";
import { harmless } from "../contract/harmless.ts";
import { visible } from "../contract/visible.ts";
import type { Environment } from "./environment.ts";
import type { Perform } from "./perform.ts";
import { addCompletionWords } from "./words/completion.ts";
import { environmentVariables } from "./words/environmentVariables.ts";
import { exitCodeMeanings } from "./words/exitCodeMeanings.ts";
import { addHelpWords } from "./words/help.ts";
import { addKeyWords } from "./words/keys.ts";
import { addLoginWords } from "./words/login.ts";
import { addPipelineWords } from "./words/pipelines.ts";
import { addRunWords } from "./words/run.ts";
import { addRunsWords } from "./words/runs.ts";
import { addServiceWords } from "./words/service.ts";
import { ToolCommand } from "./words/toolCommand.ts";

export interface ProgramDeps {
  readonly version: string;
  readonly env: Environment;
  readonly perform: Perform;
  /** What was typed: when its first word is a command's, no other is needed. All are made when it is left out. */
  readonly line?: readonly string[];
}

/** The words of the command line. Each command's own code is loaded when it is called. */
export function createProgram({ version, env, perform, line = [] }: ProgramDeps): ToolCommand {
  const program = new ToolCommand("pipeline", perform)
    .description("Start, follow and cancel pipeline runs.")
    .version(version, "-V, --version", "print the version")
    .option("--json", "print one JSON object on standard output")
    .option("-q, --quiet", "no progress and no prose: only results, warnings and errors")
    .option("--no-color", "no colours (also with NO_COLOR=1 or TERM=dumb)")
    .helpOption("-h, --help", "show what a command does")
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      outputError: (text, write) => write(harmless(complaint(text, line), false)),
    })
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError("See `pipeline --help`.");
  const first = line.find((word) => !word.startsWith("-"));
  const wanted = parts.filter(({ commands }) => commands.some((command) => command === first));
  for (const { add } of wanted.length > 0 ? wanted : parts) add(program, env);
  for (const command of program.commands) command.helpGroup(`${groupOf(command.name())}:`);
  return program
    .addSection(
      "Exit codes",
      exitCodeMeanings.map(([code, meaning]) => [String(code), meaning]),
    )
    .addSection("Environment variables", environmentVariables);
}

/** Who adds which commands, in the order of the help. `help` looks at all of them, so it alone stands in no part of its own. */
const parts: readonly Part[] = [
  { commands: ["run"], add: addRunWords },
  { commands: ["runs"], add: addRunsWords },
  { commands: ["pipelines", "validate"], add: addPipelineWords },
  { commands: ["org", "page", "serve", "backup"], add: addServiceWords },
  { commands: ["login", "logout", "logins"], add: addLoginWords },
  { commands: ["keys"], add: addKeyWords },
  { commands: ["completion"], add: addCompletionWords },
  { commands: [], add: addHelpWords },
];

interface Part {
  readonly commands: readonly string[];
  readonly add: (program: ToolCommand, env: Environment) => void;
}

/** Whether the parser itself has ended the call, having told why: help, the version, or wrong usage. */
export function isParserExit(error: unknown): error is CommanderError {
  return error instanceof CommanderError;
}

/** What the list of commands is parted into. */
function groupOf(command: string): string {
  switch (command) {
    case "run":
    case "runs":
    case "pipelines":
    case "validate":
      return "Run and watch";
    case "login":
    case "logout":
    case "logins":
    case "org":
    case "page":
      return "The service and your account";
    case "serve":
    case "backup":
    case "keys":
      return "This machine's own service";
    default:
      return "More";
  }
}

/** What the parser says of the line; it repeats words of it as they are, which may have lines of their own. */
function complaint(text: string, line: readonly string[]): string {
  const given = line.flatMap((word) => [word, word.slice(word.indexOf("=") + 1)]);
  const shown = given.reduce(
    (all, word) => (visible(word) === word ? all : all.replaceAll(word, visible(word))),
    text,
  );
  return shown.replace(/^error: /, "pipeline: ");
}
