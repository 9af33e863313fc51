import { followRun, isUnseen } from "../../client/follow/followRun.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { AbsentEndpoint } from "../../client/service/replyErrors.ts";
import { type CancelOutcome, cancelEach, myActiveRuns } from "../../client/start/cancelRuns.ts";
import { exitCodes, PipelineError, withNext } from "../../contract/errors.ts";
import { isActive } from "../../contract/runStatus.ts";
import { counted } from "../../text/counted.ts";
import { type Failure, failureOf } from "../output/output.ts";
import { statusText } from "../terminal/terminal.ts";
import type { Tool } from "../tool.ts";

interface CancelOptions {
  readonly mine?: boolean;
  readonly wait?: boolean;
}

/**
 * `pipeline runs cancel <id>…` and `pipeline runs cancel --mine`. A stopped run isn't an error. Without either, cancels the
 * caller's only active run, but only at a terminal: in a script, a variable may be empty by mistake.
 * @throws PipelineError `usage` for both of them, for neither in a script, and for neither if several runs are active.
 */
export async function cancelRuns(
  tool: Tool,
  { mine = false, wait = false }: CancelOptions,
  named: readonly string[],
): Promise<number> {
  const { output, interrupted } = tool;
  const { out } = output;
  const isNamed = mine || named.length > 0;
  if (mine && named.length > 0) throw unclear("Name run ids or --mine, not both.");
  if (!isNamed && (output.json || !out.isTerminal)) throw unclear("Which run?");
  const client = await tool.connect();
  const runIds = named.length > 0 ? [...new Set(named)] : await listMine(tool, client);
  if (!isNamed && runIds.length > 1) throw unclear(`Which run? Yours are active: ${runIds.join(", ")}.`);
  const untilStopped = stopWaiter(tool, client);
  const ending = new Map<string, Promise<CancelOutcome>>();
  const finish = async (outcome: CancelOutcome): Promise<CancelOutcome> => {
    const end = wait ? await untilStopped(outcome) : outcome;
    if (end.kind === "cancelled") {
      output.text(`${end.runId} ${out.isTerminal ? statusText(end.status, out) : end.status}`);
    }
    return end;
  };
  const outcomes = await cancelEach(client, runIds, interrupted, (outcome) =>
    ending.set(outcome.runId, finish(outcome)),
  );
  const ends = await Promise.all(outcomes.map((outcome) => ending.get(outcome.runId) ?? outcome));
  interrupted.throwIfAborted();

  const runs = ends.flatMap((each) =>
    each.kind === "cancelled" ? [{ runId: each.runId, status: each.status }] : [],
  );
  const failures = ends.flatMap((each) =>
    each.kind === "failed" ? [{ runId: each.runId, ...failureOf(each.error) }] : [],
  );
  if (failures.length === 0) {
    output.result("runs cancel", { runs }, "");
    if (outcomes.length === 0 && !output.json) output.note("You have no active runs.");
    return exitCodes.done;
  }
  const failed = failures.map(({ runId, failure: { type, message, next } }) => ({
    runId,
    error: { type, message: withNext(message, next) },
  }));
  output.failure("runs cancel", combined(failures), { runs, failed });
  const [first] = failures;
  const isOneReason = runs.length === 0 && failures.every(({ exitCode }) => exitCode === first?.exitCode);
  return isOneReason && first !== undefined ? first.exitCode : exitCodes.runDidNotSucceed;
}

function unclear(message: string): PipelineError {
  return new PipelineError("usage", message, {
    next: "`pipeline runs cancel <id>` cancels one, `pipeline runs cancel --mine` each that your key started.",
  });
}

/** The active runs of the caller's key. @throws PipelineError `not-supported` if runs can't be listed; as `myActiveRuns`. */
async function listMine({ output, interrupted }: Tool, client: ServiceClient): Promise<string[]> {
  try {
    const { mine, nobodys, areMore } = await myActiveRuns(client, interrupted);
    if (nobodys.length > 0) {
      const ids = nobodys.map(({ runId }) => runId).join(", ");
      output.warn(`left alone, since the service doesn't tell who started it: ${ids}`);
    }
    if (areMore)
      output.warn("the service lists more runs than were looked through: call this again for the others.");
    return mine.map(({ runId }) => runId);
  } catch (error) {
    if (!(error instanceof AbsentEndpoint)) throw error;
    throw new PipelineError("not-supported", `The runs of your key can't be listed: ${error.message}`, {
      cause: error,
      next: "Name each: `pipeline runs cancel <id>…`. The service's own command-line tool may list them.",
    });
  }
}

/** Combines all failures into one; a next step that they share is given once. */
function combined(failures: readonly { readonly runId: string; readonly failure: Failure }[]): Failure {
  const types = new Set(failures.map(({ failure }) => failure.type));
  const nexts = new Set(failures.map(({ failure }) => failure.next));
  const [next = ""] = nexts;
  const [type = "internal"] = types;
  const lines = failures.map(({ runId, failure }) =>
    nexts.size === 1
      ? `${runId}: ${failure.message}`
      : `${runId}: ${withNext(failure.message, failure.next)}`,
  );
  return {
    type: types.size === 1 ? type : "several",
    message: lines.join("\n"),
    next: nexts.size === 1 ? next : "",
  };
}

/** @returns a function that waits until a run has stopped and shows how many are left: at most as many as the org has slots. */
function stopWaiter({ output, interrupted }: Tool, client: ServiceClient) {
  let left = 0;
  let hasWarned = false;
  const show = (change: number): void => {
    left += change;
    const runs = counted(left, "run");
    const line = `waiting for ${runs} to stop; Ctrl-C leaves, and what was cancelled stays so`;
    output.passing(...(left === 0 ? [] : [line]));
  };
  /** @returns how the run ended; the given outcome, with a warning, if the service can't show that. */
  return async (outcome: CancelOutcome): Promise<CancelOutcome> => {
    if (outcome.kind === "failed" || !isActive({ status: outcome.status })) return outcome;
    const { runId } = outcome;
    show(1);
    try {
      const run = await followRun(client, { runId }, () => {}, interrupted);
      return { runId, kind: "cancelled", status: run.status };
    } catch (error) {
      if (!isUnseen(error)) return { runId, kind: "failed", error };
      if (!hasWarned) {
        output.warn(`${client.baseUrl.host} doesn't tell when a run has stopped, so that isn't waited for.`);
      }
      hasWarned = true;
      return outcome;
    } finally {
      show(-1);
    }
  };
}
