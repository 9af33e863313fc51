import { InvalidArgumentError, Option } from "commander";
import { PipelineError } from "../../contract/errors.ts";
import { inputNamePattern } from "../../contract/pipelines.ts";
import { readTimeLimit } from "../../pipeline/file/duration.ts";
import type { RunFlags } from "../run/runPipelines.ts";
import type { Tool } from "../tool.ts";
import { name, names, path, type ToolCommand, wholeNumber } from "./command.ts";

export function addRunCommands(program: ToolCommand): void {
  program
    .add("run", {
      summary: "start a run of each pipeline and follow it until it stops",
      description,
      examples: [
        ["pipeline run hello", "one run, followed to its end; Ctrl-C cancels it"],
        ["pipeline run hello --log > log.txt", "save the steps' output"],
        ["pipeline run lint test build", "one after the other; none starts if a name is wrong"],
        ["pipeline run nightly --from publish", "a new run, without the steps before `publish`"],
        [
          "pipeline run nightly --input region=eu",
          "with an input; at a terminal, missing ones are asked for",
        ],
        ["pipeline run --tag smoke", "all pipelines that have the tag, one after the other"],
        ["pipeline run test --junit report.xml", "with a report for CI: a testcase a step"],
        ["pipeline run nightly --dry-run", "what would be sent and run, without a run"],
        ["pipeline run nightly --detach", "return as soon as the run has started"],
        ["pipeline run nightly --time-limit 5m", "stop it after five minutes, if it still runs then"],
      ],
    })
    .argument("[pipeline...]", "names of pipelines, as in pipelines/<name>.yaml; none lists them", names)
    .option(
      "--parallel <n>",
      "how many to run at the same time; no more than the org's limit",
      wholeNumber(1, 1000),
    )
    .option("--tag <tag>", "run the pipelines that have this tag; as often as needed", names)
    .option("--log", "print the steps' output as it comes")
    .option("--detach", "return as soon as the runs have started")
    .option("--project <name>", "the project's name, when it isn't the folder's", name)
    .option("--time-limit <time>", "stop each run after so long: 90, 90s, 5m, up to 1h", timeLimitSeconds)
    .option(
      "--from <step>",
      "skip the steps before this one, by its name or its number; a new run, and one of the day's",
      name,
    )
    .option(
      "--input <name=value>",
      "give an input, as often as needed; name=@file reads a file's text",
      inputWords,
    )
    .option("--junit <file>", "write a report in JUnit XML, a testcase a step, however the runs end", path)
    .option("--html <file>", "write a report as one HTML file that needs nothing besides", path)
    .addOption(
      new Option(
        "--dry-run",
        "show what would be sent and run, and what would fail; starts nothing and uses no run",
      ).conflicts(["parallel", "log", "detach", "junit", "html"]),
    )
    .option("--connect", "with --dry-run: also connect to the hosts and databases that steps name")
    .does(async () => runOrLook);
}

/** `pipeline pipelines` and `pipeline validate`. */
export function addPipelineCommands(program: ToolCommand): void {
  program
    .add("pipelines", {
      summary: "list pipelines with their resource types and problems",
      description:
        "List pipelines with their resource types and problems.\n\nIn a project, those of its files, which needs no service; elsewhere, and with --all, --project or another service in use, those that the service knows.",
      examples: [
        ["pipeline pipelines", "those of the project that you are in"],
        ["pipeline pipelines --all", "those of every project that the service knows"],
      ],
    })
    .option("--project <name>", "only those of one project", name)
    .addOption(new Option("--all", "those of every project that the service knows").conflicts("project"))
    .option("--tag <tag>", "only those that have this tag; as often as needed, for any of several", names)
    .does(async () => (await import("./listPipelines.ts")).listPipelines);

  program
    .add("validate", {
      summary: "show the problems of pipeline files, with line and column",
      description:
        "Show every problem of pipeline files with its line and column: of those that are named, else of all in the project.\n\nThe exit code is 1 when there is one, 2 when a file isn't there. It needs no service.",
      examples: [
        ["pipeline validate", "every pipeline of the project"],
        ["pipeline validate hello nightly", "two of them, by their names"],
        ["pipeline validate ../other/pipelines/build.yaml", "a file, wherever it is"],
        ["pipeline validate - --stdin-name build.yaml < build.yaml", "unsaved text of an editor"],
      ],
    })
    .argument("[file...]", "paths of files, names of the project's pipelines, or - for standard input")
    .option("--stdin-name <file>", "the name of standard input in messages")
    .does(async () => (await import("./validate.ts")).validate);
}

async function runOrLook(tool: Tool, flags: RunFlags, pipelines: string[]): Promise<number> {
  checkFlags(flags, pipelines);
  if (pipelines.length === 0 && flags.tag === undefined) {
    const { noneNamed } = await import("../run/namedPipelines.ts");
    throw await noneNamed(tool, flags.project);
  }
  if (flags.dryRun) return (await import("../run/dryRun.ts")).dryRunPipelines(tool, pipelines, flags);
  return (await import("../run/runPipelines.ts")).runPipelines(tool, pipelines, flags);
}

/** @throws PipelineError `usage` for conflicting options. */
function checkFlags(options: RunFlags, pipelines: readonly string[]): void {
  if (options.detach && (options.junit ?? options.html) !== undefined) {
    throw new PipelineError("usage", "A report says how a run ends; --detach doesn't wait for that.", {
      next: "`pipeline runs show <id> --junit <file>` writes one later.",
    });
  }
  if (options.tag !== undefined && pipelines.length > 0) {
    throw new PipelineError("usage", "Name pipelines or a --tag, not both.");
  }
  if (options.from !== undefined && (pipelines.length > 1 || options.tag !== undefined)) {
    throw new PipelineError("usage", "--from is for a run of one pipeline.", {
      next: "Name the pipeline whose step it is alone.",
    });
  }
  if (options.connect && !options.dryRun) {
    throw new PipelineError("usage", "--connect is for --dry-run.", {
      next: "A run connects to all that its steps name.",
    });
  }
}

const description =
  "Start a run of each pipeline and follow it until it stops.\n\nWhile another run holds the org's slot, it waits for up to 120 s. When a limit refuses a run, standard output holds one JSON object that says why and when to try again, and the exit code is 5. Progress goes to standard error; so does the log where several pipelines are named or --json is given, and otherwise it goes to standard output.\n\nVariables of a file have no option: the pipeline names the file, as `env-file: .env`.";

/** Collects inputs as `name=value`; the value may be empty. */
export function inputWords(text: string, before: readonly string[] = []): string[] {
  if (inputNamePattern.test(text.slice(0, Math.max(0, text.indexOf("="))))) return [...before, text];
  throw new InvalidArgumentError("It should be name=value, such as region=eu.");
}

/** Reads a time limit; a bare number is in seconds. */
function timeLimitSeconds(text: string): number {
  const seconds = readTimeLimit(/^\d{1,9}$/.test(text) ? Number(text) : text);
  if (seconds !== undefined) return seconds;
  throw new InvalidArgumentError(
    "It should be whole seconds, from 1s to 1h, which is the most that a run may take.",
  );
}
