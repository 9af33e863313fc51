import { t } from "@vscode/l10n";
import type { window as vscodeWindow } from "vscode";
import { AbsentEndpoint } from "../../client/http/replyError.ts";
import type { Run } from "../../contract/run.ts";
import { type RecentRunDeps, recentRun } from "../commands/recentRun.ts";
import { runIdOf } from "../commands/runArgument.ts";
import type { OpenLogs } from "./openLogs.ts";

export interface OpenLogDeps extends RecentRunDeps {
  readonly logs: Pick<OpenLogs, "of" | "giveUp">;
  readonly window: RecentRunDeps["window"] & Pick<typeof vscodeWindow, "showInformationMessage">;
  /** Shows the document of a run's log. */
  readonly show: (run: Run) => Promise<void>;
}

/**
 * “Open Run Log…”: shows a run's log as a document.
 * @param wanted a run's id, or what has one as `runId`; the person picks a run when it is left out.
 * @throws PipelineError what stands in the way, but not that the service has no logs, which is said in a sentence.
 */
export async function openLog(wanted: unknown, deps: OpenLogDeps): Promise<void> {
  const { logs, show, session, signal, window } = deps;
  const words = { title: t("Open Run Log"), placeHolder: t("Pick the run whose log is to be opened") };
  const runId = runIdOf(wanted) ?? (await recentRun(undefined, words, deps))?.runId;
  if (runId === undefined) return;
  try {
    await show(await openedRun(runId, logs));
  } catch (error) {
    if (!(error instanceof AbsentEndpoint)) throw error;
    const { host } = (await session.connect(signal)).baseUrl;
    void window.showInformationMessage(t("{0} does not give the logs of its runs.", host));
  }
}

async function openedRun(runId: string, logs: OpenLogDeps["logs"]): Promise<Run> {
  const log = logs.of(runId);
  try {
    return log.run ?? (await log.opened);
  } catch (error) {
    logs.giveUp(runId);
    throw error;
  }
}
