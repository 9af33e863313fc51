import { Command, CommanderError } from "commander";
import { dataFolder } from "../client/embedded/dataFolder.ts";
import { retentionDays, timeLimit } from "../contract/limits.ts";
import { asked, type JsonFlag, names, wholeNumber } from "./arguments.ts";
import { addKeyCommands } from "./keyCommands.ts";
import type { Tool } from "./tool.ts";

export interface ProgramDeps {
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Runs one command; it decides how errors are shown and what the exit code is. */
  readonly perform: (
    command: string,
    options: { readonly json: boolean },
    act: (tool: Tool) => Promise<number>,
  ) => Promise<void>;
}

/** The words of the command line. Each command's own code is loaded when it is called. */
export function createProgram({ version, env, perform }: ProgramDeps): Command {
  const program = new Command("pipeline")
    .description("Start, follow and cancel pipeline runs.")
    .version(version)
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError("(`--help` shows what there is.)");

  program
    .command("run")
    .summary("start a run of each pipeline and follow it until it stops")
    .argument("<pipeline...>", "names of pipelines, as in pipelines/<name>.yaml", names)
    .option(
      "--parallel <n>",
      "how many to run at the same time; no more than the org's limit",
      wholeNumber(1, 1000),
    )
    .option("--detach", "return as soon as the runs have started")
    .option("--project <name>", "the project's name, when it isn't the folder's")
    .option("--time-limit <seconds>", "stop each run after so many seconds", wholeNumber(1, timeLimit.atMost))
    .option("--json", "print one JSON object")
    .action((pipelines: string[], options: RunFlags) =>
      perform("run", asked(options), async (tool) => {
        const { runPipelines } = await import("./commands/runPipelines.ts");
        return runPipelines(tool, pipelines, {
          parallel: options.parallel,
          detach: options.detach ?? false,
          project: options.project,
          timeLimitSeconds: options.timeLimit,
        });
      }),
    );

  const runs = program.command("runs").summary("list and cancel runs");
  runs
    .command("list")
    .summary("list the org's runs, newest first")
    .option("--limit <n>", "how many to list", wholeNumber(1, 100), 20)
    .option("--in-work", "only runs that hold a place")
    .option("--mine", "only runs that your API key started")
    .option("--json", "print one JSON object")
    .action((options: ListFlags) =>
      perform("runs list", asked(options), async (tool) => {
        const { listRuns } = await import("./commands/listRuns.ts");
        return listRuns(tool, {
          limit: options.limit,
          inWork: options.inWork ?? false,
          mine: options.mine ?? false,
        });
      }),
    );
  runs
    .command("cancel")
    .summary("cancel runs")
    .argument("[id...]", "ids of runs")
    .option("--mine", "each run in work that your API key started")
    .option("--json", "print one JSON object")
    .action((ids: string[], options: CancelFlags) =>
      perform("runs cancel", asked(options), async (tool) => {
        const { cancelRuns } = await import("./commands/cancelRuns.ts");
        return cancelRuns(tool, ids, { mine: options.mine ?? false });
      }),
    );

  program
    .command("org")
    .summary("show the org, its limits and today's use")
    .option("--json", "print one JSON object")
    .action((options: JsonFlag) =>
      perform("org", asked(options), async (tool) => (await import("./commands/org.ts")).showOrg(tool)),
    );

  program
    .command("page")
    .summary("print a link that opens the page in a browser, signed in; it works once, within a minute")
    .option("--open", "open it in the browser")
    .option("--json", "print one JSON object")
    .action((options: PageFlags) =>
      perform("page", asked(options), async (tool) => {
        const { showPage } = await import("./commands/page.ts");
        return showPage(tool, { open: options.open ?? false });
      }),
    );

  program
    .command("serve")
    .summary("serve this machine's own service in the foreground")
    .option("--port <n>", "the port on 127.0.0.1; 0 for any free one", wholeNumber(0, 65_535), 0)
    .option(
      "--data-dir <folder>",
      "where its data is kept (else PIPELINE_DATA_DIR, else the user's data folder)",
    )
    .option(
      "--retention-days <n>",
      `how long logs and artifacts are kept (else PIPELINE_RETENTION_DAYS, else ${retentionDays.byDefault})`,
      wholeNumber(1, retentionDays.atMost),
    )
    .option("--json", "print one JSON object once it answers")
    .action((options: ServeFlags) =>
      perform("serve", asked(options), async (tool) => {
        const { serveInForeground } = await import("./commands/serve.ts");
        return serveInForeground(tool, {
          port: options.port,
          folder: options.dataDir ?? dataFolder(env),
          retentionDays: options.retentionDays,
        });
      }),
    );

  program
    .command("backup")
    .summary("copy the database of this machine's own service, also while it runs")
    .argument("<file>", "the copy; nothing may be there yet")
    .option("--data-dir <folder>", "where the service's data is kept")
    .option("--json", "print one JSON object")
    .action((file: string, options: BackupFlags) =>
      perform("backup", asked(options), async (tool) => {
        const { backup } = await import("./commands/backup.ts");
        return backup(tool, { file, folder: options.dataDir ?? dataFolder(env) });
      }),
    );

  addKeyCommands(program, env, perform);

  return program;
}

interface RunFlags extends JsonFlag {
  readonly parallel?: number;
  readonly detach?: true;
  readonly project?: string;
  readonly timeLimit?: number;
}
interface ListFlags extends JsonFlag {
  readonly limit: number;
  readonly inWork?: true;
  readonly mine?: true;
}
interface CancelFlags extends JsonFlag {
  readonly mine?: true;
}
interface PageFlags extends JsonFlag {
  readonly open?: true;
}
interface BackupFlags extends JsonFlag {
  readonly dataDir?: string;
}
interface ServeFlags extends JsonFlag {
  readonly port: number;
  readonly dataDir?: string;
  readonly retentionDays?: number;
}
/** Whether the parser itself has ended the call, having told why: help, the version, or wrong usage. */
export function isParserExit(error: unknown): error is CommanderError {
  return error instanceof CommanderError;
}
