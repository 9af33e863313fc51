import { t } from "@vscode/l10n";
import type { ServiceClient } from "../../client/http/serviceClient.ts";
import { startByTool } from "../../client/tool/foreignTool.ts";
import { exitCodes } from "../../contract/exitCodes.ts";
import { visible } from "../../contract/visible.ts";
import { type OwnToolDeps, ownTool } from "../start/ownTool.ts";
import type { PipelineTask } from "./taskDefinition.ts";
import { look } from "./taskScreen.ts";
import type { TaskPlace } from "./taskTerminal.ts";
import { tellRefusal } from "./tellRefusal.ts";

/**
 * Runs a task's pipeline through the service's own tool, which waits for a place by itself (contract: "The extension",
 * last row).
 * @returns the exit code. @throws PipelineError as `ownTool` and `startByTool`; the interrupt's reason.
 */
export async function runTaskByTool(
  { pipeline, timeLimitSeconds }: PipelineTask,
  client: ServiceClient,
  root: string | undefined,
  { screen, stops }: TaskPlace,
  deps: OwnToolDeps,
): Promise<number> {
  const { clock } = client;
  const tool = await ownTool(client, { root, timeLimitSeconds }, deps);
  const { cliPath } = tool;
  screen.line(look.dim(t("{0} is run by {1}", visible(pipeline), visible(cliPath))));
  const began = clock.monotonic();
  const outcome = await startByTool({ ...tool, clock }, pipeline, stops.interrupted);
  if (outcome.kind === "done") {
    screen.line(look.bold(look.good(t("{0}: succeeded", visible(pipeline)))));
    return exitCodes.done;
  }
  const waitedSeconds = Math.round((clock.monotonic() - began) / 1000);
  return tellRefusal({ pipeline, refusal: outcome.refusal, waitedSeconds }, screen, outcome.hints);
}
