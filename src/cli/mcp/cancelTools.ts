import * as z from "zod/mini";
import { type CancelOutcome, cancelEach, myActiveRuns } from "../../client/start/cancelRuns.ts";
import { describeError } from "../../contract/errors.ts";
import { isActive } from "../../contract/runStatus.ts";
import { agentTool, type Call } from "./agentTool.ts";
import { runIdInput } from "./readTools.ts";
import type { ToolOutcome } from "./results.ts";

/** What a run has done so far stays done, and a run that has stopped is left as it is. */
const annotations = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: true,
  openWorldHint: false,
} as const;

const cancelledSchema = z.object({ runId: z.string(), status: z.string() });

export const cancelRunTool = agentTool({
  name: "cancel_run",
  title: "Cancel a run",
  description:
    "Cancels a run. It holds its slot until its programs have ended, which wait_for_run waits for. The run stays counted among the day's.",
  annotations,
  input: z.strictObject({ runId: runIdInput }),
  facts: cancelledSchema,
  async act({ runId }, { session, signal }) {
    const outcome = await session.ask(async (client) => {
      const [only] = await cancelEach(client, [runId], signal);
      if (only?.kind !== "cancelled") throw only?.error;
      return only;
    }, signal);
    const { status } = outcome;
    return { kind: "done", facts: { runId, status }, text: cancelText([outcome]) };
  },
});

export const cancelMyRunsTool = agentTool({
  name: "cancel_my_runs",
  title: "Cancel my runs",
  description:
    "Cancels every active run that the key in use started: yours, and those that the person started with the same key. Prefer cancel_run for a run of your own.",
  annotations,
  input: z.strictObject({}),
  facts: z.object({
    runs: z.array(cancelledSchema),
    failed: z.array(z.object({ runId: z.string(), message: z.string() })),
  }),
  act: (_, call) => cancelMine(call),
});

async function cancelMine({ session, signal }: Call): Promise<ToolOutcome<object>> {
  const outcomes = await session.ask(async (client) => {
    const { mine } = await myActiveRuns(client, signal);
    return cancelEach(
      client,
      mine.map(({ runId }) => runId),
      signal,
    );
  }, signal);
  const runs = outcomes.flatMap((each) =>
    each.kind === "cancelled" ? [{ runId: each.runId, status: each.status }] : [],
  );
  const failed = outcomes.flatMap((each) =>
    each.kind === "failed" ? [{ runId: each.runId, message: describeError(each.error) }] : [],
  );
  return { kind: "done", facts: { runs, failed }, text: cancelText(outcomes) };
}

function cancelText(outcomes: readonly CancelOutcome[]): string {
  if (outcomes.length === 0) return "The key in use has no active run.";
  return outcomes
    .map((each) => {
      if (each.kind === "failed") return `${each.runId} was not cancelled: ${describeError(each.error)}`;
      const isStill = isActive({ status: each.status });
      return `${each.runId} ${each.status}${isStill ? ": wait_for_run waits until it has given up its slot" : ""}.`;
    })
    .join("\n");
}
