import { InvalidArgumentError, Option } from "commander";
import { exitCodes } from "../../contract/errors.ts";
import { runStatuses } from "../../contract/runStatus.ts";
import type { AskedRuns } from "../runs/listRuns.ts";
import type { Tool } from "../tool.ts";
import { name, path, type ToolCommand, wholeNumber } from "./command.ts";
import { inputWords } from "./run.ts";

export function addRunsCommands(program: ToolCommand): void {
  const runs = program.add("runs", { summary: "list, watch and cancel runs, and read their logs" });
  addList(runs);
  addShowAndLog(runs);
  addDiffAndFile(runs);
  addDownloadAndCancel(runs);
}

function addList(runs: ToolCommand): void {
  runs
    .add("list", {
      summary: "list the org's runs, newest first",
      description:
        "List the org's runs, newest first.\n\nWhere standard output is no terminal, each run is a line of fields separated by tabs: run id, status, pipeline, project, when it started and stopped, the key that started it, the agent, the key's name, and the first line of why it ended. More may come behind them.",
      examples: [
        ["pipeline runs list --active", "what holds the org's slot"],
        ["pipeline runs list --status failed,timed-out --pipeline nightly", "failed runs of one pipeline"],
        ["pipeline runs list --pipeline nightly --input region=eu", "those with this input"],
        ["pipeline runs list --mine --since 2h", "yours of the last two hours"],
        [
          "pipeline runs list --status failed,timed-out,lost --since yesterday --until yesterday",
          "what went wrong yesterday",
        ],
        ["pipeline runs list --watch", "live, until Ctrl-C"],
      ],
    })
    .option("--limit <n>", "how many to list", wholeNumber(1, 1000), 20)
    .option("--after <next>", "continue a list, by the `next` of its --json output", name)
    .option("--active", "only active runs; the same as --status active")
    .addOption(new Option("--in-work").implies({ active: true }).hideHelp())
    .option(
      "--status <status>",
      `only runs of a status: active, ${runStatuses.join(", ")}; several with commas`,
      statuses,
    )
    .option("--pipeline <name>", "only runs of this pipeline", name)
    .option("--project <name>", "only runs of this project", name)
    .option("--input <name=value>", "only runs with this value of an input; repeatable", inputWords)
    .option("--mine", "only runs that your API key started")
    .option(
      "--since <time>",
      "only runs created since: 90m, 2h, 3d, today, yesterday, monday, 2026-11-24 or 2026-11-24T10:00, in your time zone; with Z or an offset in another",
      name,
    )
    .option("--until <time>", "only runs created before such a time; a day counts to its end", name)
    .option("--watch", "keep watching and show each change; with --json one object a line")
    .does(async () => listOrWatch);
}

function addShowAndLog(runs: ToolCommand): void {
  runs
    .add("show", {
      summary: "show a run, its steps and their files",
      description:
        "Show a run, its steps and their files; without an ID, the newest run that your key started.",
      examples: [
        ["pipeline runs show", "your newest run"],
        [
          "pipeline runs show run_01kjpzv280ymxxabs8wt3h616h --exit-status",
          "exit with 1 unless it succeeded",
        ],
        ["pipeline runs show --junit -", "its report in JUnit XML on standard output"],
        ["pipeline runs show --html report.html", "its report as one HTML file"],
      ],
    })
    .argument("[id]", "id of a run", name)
    .option("--exit-status", "exit with 1 unless the run succeeded")
    .option("--junit <file>", "write its report in JUnit XML, a testcase a step; - is standard output", path)
    .option("--html <file>", "write its report as one HTML file that needs nothing besides", path)
    .does(async () => (await import("../runs/showRun.ts")).showRun);
  runs
    .add("log", {
      summary: "print a run's log",
      description:
        "Print a run's log; without an ID, that of the newest run that your key started.\n\nWhat its programs wrote to standard output and error comes in its order on standard output, without anything that could drive a terminal; colours stay on a terminal that has them. At the end it says why steps failed.",
      examples: [
        ["pipeline runs log --follow", "your newest run, until it stops"],
        ["pipeline runs log --step test --tail 20", "the last lines of one step"],
        ["pipeline runs log --raw > run.log", "byte for byte as it was written"],
        ["pipeline runs log --grep /error/i", "the lines with a word, in any case"],
        [
          "pipeline runs log --pipeline nightly --last 50 --grep refused",
          "the same in a pipeline's last runs",
        ],
      ],
    })
    .argument("[id]", "id of a run", name)
    .option("-f, --follow", "continue until the run stops, also across broken connections")
    .option("--step <step>", "only this step, by its name, its number or its `id`", name)
    .addOption(
      new Option("--stream <stream>", "only one stream; note is what the runner reports").choices([
        "stdout",
        "stderr",
        "note",
      ]),
    )
    .option("-t, --timestamps", "the time before each line")
    .option("--tail <n>", "only the last lines so far", wholeNumber(0, 1_000_000))
    .option(
      "--grep <text>",
      "only lines with this text, or that a /pattern/ finds, /pattern/i in any case; of commands and failures, too",
    )
    .option("--pipeline <name>", "with --grep: in the logs of this pipeline's last runs, newest first", name)
    .option("--last <n>", "of so many runs of the pipeline; 20 if left out", wholeNumber(1, 100))
    .option("--raw", "only what the programs wrote, byte for byte; not on a terminal")
    .option("--ndjson", "one entry a line, as JSON, as it comes")
    .option("--exit-status", "exit with 1 unless the run succeeded")
    .does(async () => (await import("../runs/printRunLog.ts")).printRunLog);
}

function addDiffAndFile(runs: ToolCommand): void {
  runs
    .add("diff", {
      summary: "show what changed since a run's pipeline last succeeded",
      description:
        "Show what changed since a run's pipeline last succeeded before it: the commits, and the pipeline file with those that it includes; without an ID, for the newest run that your key started. Secrets are masked.",
      examples: [["pipeline runs diff", "for your newest run"]],
    })
    .argument("[id]", "id of a run", name)
    .does(async () => (await import("../runs/showRun.ts")).showChanges);
  runs
    .add("file", {
      summary: "print a run's pipeline file as it ran",
      description:
        "Print a run's pipeline file as it ran, and the files that it includes; without an ID, that of the newest run that your key started. Secrets are masked. It is kept as long as the run's log.",
      examples: [["pipeline runs file", "of your newest run"]],
    })
    .argument("[id]", "id of a run", name)
    .does(async () => (await import("../runs/showRun.ts")).showFile);
}

function addDownloadAndCancel(runs: ToolCommand): void {
  runs
    .add("download", {
      summary: "save the files that a run's steps kept",
      description:
        "Save the files that a run's steps kept, such as screenshots, replies and reports; without an ID, those of the newest run that your key started. They go into a folder named after the run, or the one that --to names. Nothing that is there already is replaced without --overwrite.",
      examples: [
        ["pipeline runs download", "all of your newest run"],
        [
          "pipeline runs download run_01kjpzv280ymxxabs8wt3h616h reports/junit.xml --to .",
          "one of them, here",
        ],
        ["pipeline runs download --step login", "those of one step"],
      ],
    })
    .argument("[id]", "id of a run", name)
    .argument("[name]", "only the files of this name, as `pipeline runs show` lists them", name)
    .option("--step <step>", "only those of this step, by its name, its number or its `id`", name)
    .option("--to <folder>", "where they go (else a folder named after the run)", path)
    .option("--overwrite", "replace files that are there already")
    .does(async () => (await import("../runs/downloadFiles.ts")).downloadFiles);
  runs
    .add("cancel", {
      summary: "cancel runs",
      description:
        "Cancel runs. One that has stopped already counts as done. A run holds its slot until its processes are gone. At a terminal, without an ID, it cancels the only active run that your key started.",
      examples: [
        ["pipeline runs cancel --mine", "your active runs"],
        ["pipeline runs cancel --mine --wait", "wait until each has stopped"],
      ],
    })
    .argument("[id...]", "ids of runs")
    .option("--mine", "every active run that your API key started")
    .option("--wait", "wait until each has stopped and its slot is free")
    .does(async () => (await import("../runs/cancelRuns.ts")).cancelRuns);
}

/** Collects statuses, which may be comma-separated. Also accepts `in-work`, the service's word for `active`. */
function statuses(text: string, before: readonly string[] = []): string[] {
  const known: readonly string[] = ["active", ...runStatuses];
  const named = text.split(",").map((status) => status.trim().replace(/^in-work$/, "active"));
  const unknown = named.find((status) => !known.includes(status));
  if (unknown === undefined)
    return [...before, ...named.map((status) => status.replace(/^active$/, "in-work"))];
  throw new InvalidArgumentError(`There is no status \`${unknown}\`; there are: ${known.join(", ")}.`);
}

async function listOrWatch(
  tool: Tool,
  { active = false, watch = false, status = [], since, until, ...options }: ListFlags,
): Promise<number> {
  const isNamed = (since ?? until) !== undefined;
  const span = isNamed && (await import("./namedTime.ts")).readSpan({ since, until }, Date.now());
  const wanted = { ...options, ...span, statuses: active ? [...status, "in-work"] : status };
  if (watch) return (await import("../runs/watchRuns.ts")).watchRuns(tool, wanted);
  await (await import("../runs/listRuns.ts")).listRuns(tool, wanted);
  return exitCodes.done;
}

interface ListFlags extends Omit<AskedRuns, "statuses" | "since" | "until"> {
  readonly since?: string;
  readonly until?: string;
  readonly active?: boolean;
  readonly status?: string[];
  readonly watch?: boolean;
}
