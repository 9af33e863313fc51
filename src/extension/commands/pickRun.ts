import { t } from "@vscode/l10n";
import type { QuickPickItem, window as vscodeWindow } from "vscode";
import type { ServiceClient } from "../../client/http/serviceClient.ts";
import type { Run } from "../../contract/run.ts";
import { isInWork, nameOf } from "../../contract/run.ts";
import { durationText, elapsedText, momentText, statusText } from "../views/inWords.ts";
import { withoutIcons } from "../withoutIcons.ts";

interface RunItem extends QuickPickItem {
  readonly run: Run;
}

/** Lets a person pick one of the org's newest runs, or of those in work. */
export async function pickRun(
  runs: readonly Run[],
  words: { readonly title: string; readonly placeHolder: string },
  client: ServiceClient,
  window: Pick<typeof vscodeWindow, "showQuickPick">,
  signal: AbortSignal,
): Promise<Run | undefined> {
  const { org, servedAt } = await client.orgAndTime(signal);
  const { actor } = org;
  // The times of a run are the service's.
  const now = servedAt ?? client.clock.now();
  const picked = await window.showQuickPick(
    runs.map((run) => runItem(run, actor, now)),
    { ...words, matchOnDescription: true, matchOnDetail: true },
  );
  return picked?.run;
}

function runItem(run: Run, actor: string, now: number): RunItem {
  const whose =
    run.actor === undefined
      ? ""
      : `, ${run.actor === actor ? t("started by your key") : t("started by {0}", run.actor)}`;
  return {
    label: withoutIcons(nameOf(run)),
    description: withoutIcons(timeText(run, now)),
    detail: withoutIcons(`${run.runId}${whose}`),
    run,
  };
}

function timeText(run: Run, now: number): string {
  const status = statusText(run.status);
  if (run.createdAt === undefined) return status;
  const began = Date.parse(run.createdAt);
  if (isInWork(run)) return t("{0} for {1}", status, elapsedText(now - began));
  const when = momentText(began, now);
  if (run.stoppedAt === undefined) return t("{0}, {1}", status, when);
  return t("{0} after {1}, {2}", status, durationText(Date.parse(run.stoppedAt) - began), when);
}
