import { t } from "@vscode/l10n";
import type { ServiceClient } from "../../client/http/serviceClient.ts";
import { startByTool } from "../../client/tool/foreignTool.ts";
import { PipelineError } from "../../contract/errors.ts";
import { exitCodes } from "../../contract/exitCodes.ts";
import { visible } from "../../contract/visible.ts";
import type { RunTaskDeps } from "./runTask.ts";
import type { PipelineTask } from "./taskDefinition.ts";
import { look } from "./taskScreen.ts";
import type { TaskPlace } from "./taskTerminal.ts";
import { tellRefusal } from "./tellRefusal.ts";

/**
 * Runs a task's pipeline through the service's own tool, which waits for a place by itself (contract: "The extension",
 * last row).
 * @returns the exit code. @throws PipelineError as `startByTool`, `usage` when no tool is named; the interrupt's reason.
 */
export async function runTaskByTool(
  { pipeline }: PipelineTask,
  { baseUrl, apiKey, clock }: ServiceClient,
  root: string | undefined,
  { screen, stops }: TaskPlace,
  { cliPath: toolPath, env }: Pick<RunTaskDeps, "cliPath" | "env">,
): Promise<number> {
  const cliPath = toolPath();
  if (cliPath === undefined) {
    throw new PipelineError(
      "usage",
      t("{0} starts runs only through its own command-line tool.", baseUrl.host),
      {
        next: t("Set pipelineRuns.cliPath to that tool."),
      },
    );
  }
  screen.line(look.dim(t("{0} is run by {1}", visible(pipeline), visible(cliPath))));
  const began = clock.monotonic();
  const tool = { cliPath, baseUrl, apiKey, cwd: root ?? process.cwd(), env, clock };
  const outcome = await startByTool(tool, pipeline, stops.interrupted);
  if (outcome.kind === "done") {
    screen.line(look.bold(look.good(t("{0}: succeeded", visible(pipeline)))));
    return exitCodes.done;
  }
  const waitedSeconds = Math.round((clock.monotonic() - began) / 1000);
  return tellRefusal({ pipeline, refusal: outcome.refusal, waitedSeconds }, screen, outcome.hints);
}
