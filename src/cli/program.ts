import { replaceControlCharacters, sanitizeForTerminal } from "../text/controlCharacters.ts";
import { addAccountCommands } from "./commands/account.ts";
import { type Perform, ToolCommand } from "./commands/command.ts";
import { addServiceCommands } from "./commands/machineService.ts";
import { addMoreCommands } from "./commands/more.ts";
import { addPipelineCommands, addRunCommands } from "./commands/run.ts";
import { addRunsCommands } from "./commands/runs.ts";
import type { Stream } from "./terminal/terminal.ts";

export interface ProgramDeps {
  readonly version: string;
  readonly perform: Perform;
  /** The command line: only the commands of its first word are created, or all if there is none. */
  readonly line?: readonly string[];
  /** Where help and errors are printed. */
  readonly out?: Pick<Stream, "write">;
  readonly err?: Pick<Stream, "write">;
}

/** The parser of the command line. A command's code is loaded when it is called. */
export function createProgram({
  version,
  perform,
  line = [],
  out = process.stdout,
  err = process.stderr,
}: ProgramDeps): ToolCommand {
  const program = new ToolCommand("pipeline", perform)
    .description("Start, follow and cancel pipeline runs.")
    .version(version, "-V, --version", "print the version")
    .option("--json", "print one JSON object on standard output")
    .option("-q, --quiet", "only results, warnings and errors")
    .option("--no-color", "no colours (also with NO_COLOR=1 or TERM=dumb)")
    .helpOption("-h, --help", "show what a command does")
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => out.write(text),
      writeErr: (text) => err.write(text),
      outputError: (text, write) => write(sanitizeForTerminal(complaint(text, line), false)),
    })
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError("See `pipeline --help`.");
  const first = line.find((word) => !word.startsWith("-"));
  const wanted = commandGroups.filter(({ commands }) => commands.some((command) => command === first));
  for (const { group, add } of wanted.length > 0 ? wanted : commandGroups)
    add(program.commandsGroup(`${group}:`));
  return program
    .addSection(
      "Exit codes",
      exitCodeMeanings.map(([code, meaning]) => [String(code), meaning]),
    )
    .addSection("Environment variables", environmentVariables);
}

/**
 * The commands in the order of the help, below their group's heading. To add a command, name it here and declare it in the file
 * of its `add` function.
 */
const commandGroups = [
  { group: "Run and watch", commands: ["run"], add: addRunCommands },
  { group: "Run and watch", commands: ["runs"], add: addRunsCommands },
  { group: "Run and watch", commands: ["pipelines", "validate"], add: addPipelineCommands },
  {
    group: "The service and your account",
    commands: ["org", "page", "login", "logout", "logins"],
    add: addAccountCommands,
  },
  {
    group: "This machine's own service",
    commands: ["service", "serve", "runner", "backup", "keys", "orgs"],
    add: addServiceCommands,
  },
  // Without `help`, which covers all the commands.
  { group: "More", commands: ["mcp", "completion"], add: addMoreCommands },
];

/** Makes the parser's message, which repeats words of the line, safe for a terminal. */
function complaint(text: string, line: readonly string[]): string {
  const given = line.flatMap((word) => [word, word.slice(word.indexOf("=") + 1)]);
  const shown = given.reduce(
    (all, word) =>
      replaceControlCharacters(word) === word ? all : all.replaceAll(word, replaceControlCharacters(word)),
    text,
  );
  return shown.replace(/^error: /, "pipeline: ");
}

/** Every exit code of the tool with its meaning (contract: "The command-line tool"), for the help. */
export const exitCodeMeanings = [
  [0, "done"],
  [1, "a run did not succeed, or a file has problems"],
  [2, "wrong usage, or what was named isn't there"],
  [3, "no API key, or a refused one"],
  [4, "the service is out of reach, or breaks the contract"],
  [5, "a limit refused the run"],
  [130, "interrupted"],
] as const satisfies readonly (readonly [code: number, meaning: string])[];

/** The environment variables of the tool, each with its meaning, for the help and the docs. */
export const environmentVariables = [
  ["PIPELINE_BASE_URL", "the service to use instead of this machine's own"],
  ["PIPELINE_API_KEY", "the API key for that service"],
  ["PIPELINE_DATA_DIR", "the folder of this machine's own service"],
  ["PIPELINE_CONFIG_DIR", "the folder of what `pipeline login` saves"],
  ["PIPELINE_CACHE_DIR", "the folder of caches"],
  ["NO_COLOR", "no colours, whatever its value"],
  ["FORCE_COLOR", "colours also where there is no terminal; 0 for none anywhere"],
  ["TERM", "with dumb, no colours and no live lines"],
  ["CI", "no live lines"],
  ["BROWSER", "the program that `pipeline page --open` opens a page with"],
  ["HTTPS_PROXY, HTTP_PROXY", "the proxy to reach a service through"],
  ["NO_PROXY", "the hosts to reach without a proxy"],
  ["NODE_EXTRA_CA_CERTS", "a file of further certificates to trust"],
  ["AWS_ENDPOINT_URL_S3, AWS_REGION", "where the object store of `pipeline serve` is"],
  ["AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY", "its key"],
  ["PIPELINE_RETENTION_DAYS", "for how many days this machine's own service keeps logs"],
  ["PIPELINE_LOG_LEVEL", "how much this machine's own service writes to its log"],
] as const satisfies readonly (readonly [name: string, meaning: string])[];
