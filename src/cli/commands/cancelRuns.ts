import { type CancelOutcome, cancelMine } from "../../client/cancelMine.ts";
import { PipelineError } from "../../contract/errors.ts";
import { exitCodes } from "../exitCodes.ts";
import { failureOf } from "../output.ts";
import type { Tool } from "../tool.ts";

/**
 * `pipeline runs cancel <id>…` and `pipeline runs cancel --mine`. A run that has stopped already is no error.
 * @throws PipelineError `usage` when neither or both are asked for.
 */
export async function cancelRuns(
  tool: Tool,
  runIds: readonly string[],
  options: { readonly mine: boolean },
): Promise<number> {
  if (options.mine === runIds.length > 0) {
    throw new PipelineError("usage", options.mine ? "Name run ids or --mine, not both." : "Which run?", {
      next: "`pipeline runs cancel <id>` cancels one, `pipeline runs cancel --mine` each that your key started.",
    });
  }
  const client = await tool.connect();
  const outcomes = options.mine
    ? await cancelMine(client, tool.interrupted)
    : await Promise.all(
        runIds.map((runId) => cancelOne(() => client.cancel(runId, tool.interrupted), runId)),
      );

  const cancelled = outcomes.filter((outcome) => outcome.kind === "cancelled");
  const failed = outcomes.filter((outcome) => outcome.kind === "failed");
  const runs = cancelled.map(({ runId, status }) => ({ runId, status }));
  const text = cancelled.map(({ runId, status }) => `${runId} ${status}`).join("\n");
  const [first] = failed;
  if (first === undefined) {
    tool.output.result("runs cancel", { runs }, text);
    if (outcomes.length === 0 && !tool.output.json)
      tool.output.note("No run in work was started by your key.");
    return exitCodes.done;
  }
  tool.output.text(text);
  const { failure, exitCode } = failureOf(first.error);
  const others = failed.length > 1 ? ` (and ${failed.length - 1} more failed)` : "";
  tool.output.failure(
    "runs cancel",
    { ...failure, message: `${first.runId}: ${failure.message}${others}` },
    { runs },
  );
  return outcomes.length > 1 ? exitCodes.runDidNotSucceed : exitCode;
}

async function cancelOne(cancel: () => Promise<{ status: string }>, runId: string): Promise<CancelOutcome> {
  try {
    return { runId, kind: "cancelled", status: (await cancel()).status };
  } catch (error) {
    return { runId, kind: "failed", error };
  }
}
