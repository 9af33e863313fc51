import { wholeNumber } from "../arguments.ts";
import type { ToolCommand } from "./toolCommand.ts";

/** `pipeline runs …`. */
export function addRunsWords(program: ToolCommand): void {
  const runs = program.add("runs", { summary: "list and cancel runs" });
  runs
    .add("list", {
      summary: "list the org's runs, newest first",
      examples: [["pipeline runs list --in-work", "what holds the org's place"]],
    })
    .option("--limit <n>", "how many to list", wholeNumber(1, 100), 20)
    .option("--in-work", "only runs that hold a place")
    .option("--mine", "only runs that your API key started")
    .does(async (tool, options: ListFlags) => {
      const { listRuns } = await import("../commands/listRuns.ts");
      return listRuns(tool, {
        limit: options.limit,
        inWork: options.inWork ?? false,
        mine: options.mine ?? false,
      });
    });
  runs
    .add("cancel", {
      summary: "cancel runs",
      examples: [["pipeline runs cancel --mine", "every run in work that your key started"]],
    })
    .argument("[id...]", "ids of runs")
    .option("--mine", "each run in work that your API key started")
    .does(async (tool, options: CancelFlags, ids: string[]) => {
      const { cancelRuns } = await import("../commands/cancelRuns.ts");
      return cancelRuns(tool, ids, { mine: options.mine ?? false });
    });
}

interface ListFlags {
  readonly limit: number;
  readonly inWork?: true;
  readonly mine?: true;
}
interface CancelFlags {
  readonly mine?: true;
}
