import { t } from "@vscode/l10n";
import type { QuickPickItem, window as vscodeWindow } from "vscode";
import { AbsentEndpoint } from "../../client/http/replyError.ts";
import type { ServiceClient } from "../../client/http/serviceClient.ts";
import type { Run } from "../../contract/run.ts";
import { durationText } from "./durationText.ts";
import { inALine } from "./inALine.ts";
import type { OpenLogs } from "./openLogs.ts";
import { statusLook } from "./stepHeading.ts";

export interface OpenLogDeps {
  readonly connect: (signal: AbortSignal) => Promise<ServiceClient>;
  readonly logs: Pick<OpenLogs, "of" | "giveUp">;
  readonly window: Pick<typeof vscodeWindow, "showQuickPick" | "showInputBox" | "showInformationMessage">;
  readonly timeText: (instant: string) => string;
  readonly signal: AbortSignal;
  /** Shows the document of a run's log. */
  readonly show: (run: Run) => Promise<void>;
}

interface RunItem extends QuickPickItem {
  readonly runId: string;
}

const mostOffered = 50;

/**
 * “Open Run Log…”: shows a run's log as a document.
 * @param wanted a run's id, or what has one as `runId`; the person picks a run when it is neither.
 * @throws PipelineError what stands in the way, but not that the service has no logs, which is said in a sentence.
 */
export async function openLog(wanted: unknown, deps: OpenLogDeps): Promise<void> {
  const { logs, show, connect, signal, window } = deps;
  try {
    const runId = runIdIn(wanted) ?? (await pickRun(deps));
    if (runId === undefined) return;
    await show(await openedRun(runId, logs));
  } catch (error) {
    if (!(error instanceof AbsentEndpoint)) throw error;
    const { host } = (await connect(signal)).baseUrl;
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

function runIdIn(wanted: unknown): string | undefined {
  const id = typeof wanted === "object" && wanted !== null && "runId" in wanted ? wanted.runId : wanted;
  return typeof id === "string" && id.trim() !== "" ? id.trim() : undefined;
}

async function pickRun(deps: OpenLogDeps): Promise<string | undefined> {
  const { connect, signal, window, timeText } = deps;
  const client = await connect(signal);
  const title = t("Open Run Log");
  let runs: readonly Run[];
  try {
    ({ runs } = await client.runs({ limit: mostOffered }, signal));
  } catch (error) {
    if (!(error instanceof AbsentEndpoint)) throw error;
    // Then it hardly has logs either, but an id that a person knows can be tried.
    const typed = await window.showInputBox({
      title,
      prompt: t("{0} does not list its runs. Whose log is to be opened?", client.baseUrl.host),
      placeHolder: t("The run's id"),
    });
    return typed?.trim() || undefined;
  }
  if (runs.length === 0) {
    void window.showInformationMessage(t("There is no run yet."));
    return undefined;
  }
  const items = runs.map((run) => runItem(run, timeText));
  const picked = await window.showQuickPick(items, {
    title,
    placeHolder: t("Pick the run whose log is to be opened"),
    matchOnDescription: true,
    matchOnDetail: true,
  });
  return picked?.runId;
}

function runItem(run: Run, timeText: (instant: string) => string): RunItem {
  const took = durationText(run.createdAt, run.stoppedAt);
  const status = `${statusLook(run.status).mark} ${inALine(run.status)}`;
  return {
    label: inALine(run.pipeline),
    description: [status, ...(took === undefined ? [] : [took])].join(" · "),
    detail: `${timeText(run.createdAt)} · ${inALine(run.project)} · ${inALine(run.runId)}`,
    runId: run.runId,
  };
}
