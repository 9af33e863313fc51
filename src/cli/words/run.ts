import { timeLimit } from "../../contract/limits.ts";
import { names, wholeNumber } from "../arguments.ts";
import type { ToolCommand } from "./toolCommand.ts";

/** `pipeline run`. */
export function addRunWords(program: ToolCommand): void {
  program
    .add("run", {
      summary: "start a run of each pipeline and follow it until it stops",
      examples: [
        ["pipeline run hello", "one run, followed to its end; Ctrl-C cancels it"],
        ["pipeline run lint test build", "one after the other"],
        ["pipeline run nightly --detach", "return as soon as the run has started"],
      ],
    })
    .argument("<pipeline...>", "names of pipelines, as in pipelines/<name>.yaml", names)
    .option(
      "--parallel <n>",
      "how many to run at the same time; no more than the org's limit",
      wholeNumber(1, 1000),
    )
    .option("--detach", "return as soon as the runs have started")
    .option("--project <name>", "the project's name, when it isn't the folder's")
    .option("--time-limit <seconds>", "stop each run after so many seconds", wholeNumber(1, timeLimit.atMost))
    .does(async (tool, options: RunFlags, pipelines: string[]) => {
      const { runPipelines } = await import("../commands/runPipelines.ts");
      return runPipelines(tool, pipelines, {
        parallel: options.parallel,
        detach: options.detach ?? false,
        project: options.project,
        timeLimitSeconds: options.timeLimit,
      });
    });
}

interface RunFlags {
  readonly parallel?: number;
  readonly detach?: true;
  readonly project?: string;
  readonly timeLimit?: number;
}
