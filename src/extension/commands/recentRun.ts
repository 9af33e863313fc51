import { t } from "@vscode/l10n";
import type { window as vscodeWindow } from "vscode";
import { asAbsence } from "../../client/asAbsence.ts";
import { AbsentEndpoint } from "../../client/http/replyError.ts";
import type { ServiceClient } from "../../client/http/serviceClient.ts";
import type { Run } from "../../contract/run.ts";
import type { RunList } from "../runList.ts";
import type { Session } from "../session.ts";
import { pickRun } from "./pickRun.ts";
import { runIdOf } from "./runArgument.ts";

export interface RecentRunDeps {
  readonly session: Pick<Session, "connect">;
  readonly runs: Pick<RunList, "find">;
  readonly window: Pick<typeof vscodeWindow, "showQuickPick" | "showInformationMessage">;
  readonly signal: AbortSignal;
}

/** How many of the newest runs a person picks from. */
const offered = 50;

/**
 * The run that a command's argument names, else one that the person picks from the newest.
 * @returns undefined when they left, or there is none, which they are told.
 * @throws PipelineError as `ServiceClient.run` and `ServiceClient.runs`.
 */
export async function recentRun(
  argument: unknown,
  words: { readonly title: string; readonly placeHolder: string },
  deps: RecentRunDeps,
): Promise<Run | undefined> {
  const runId = runIdOf(argument);
  if (runId !== undefined) {
    const known = deps.runs.find(runId);
    return known ?? (await deps.session.connect(deps.signal)).run(runId, deps.signal);
  }
  const client = await deps.session.connect(deps.signal);
  const runs = await newestRuns(client, deps.signal);
  if (runs.length > 0) return pickRun(runs, words, client, deps.window, deps.signal);
  void deps.window.showInformationMessage(t("There is no run to pick from."));
  return undefined;
}

async function newestRuns(client: ServiceClient, signal: AbortSignal): Promise<readonly Run[]> {
  try {
    return (await client.runs({ limit: offered }, signal)).runs;
  } catch (error) {
    const fault = await asAbsence(client, error, signal);
    if (fault instanceof AbsentEndpoint) return [];
    throw fault;
  }
}
