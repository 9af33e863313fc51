import { t } from "@vscode/l10n";
import type { window as vscodeWindow } from "vscode";
import { timeOfDay } from "../../text/time.ts";
import { type ChooseStartDeps, type ChosenStart, chooseStart } from "../start/chooseStart.ts";
import type { PendingRetry, ResetRetries } from "../start/resetRetries.ts";
import type { Wait, Waits } from "../start/waitNotice.ts";
import { waitText } from "../status/statusFacts.ts";
import { withoutIcons } from "../window/plainWindow.ts";
import { inputsText } from "../window/runText.ts";

interface RetryDeps extends ChooseStartDeps {
  readonly retries: ResetRetries;
  readonly log: { info(text: string): void };
  readonly window: ChooseStartDeps["window"] &
    Pick<typeof vscodeWindow, "showQuickPick" | "showInformationMessage">;
}

/**
 * “Retry at 00:00 UTC…”: defers a start until the day's count starts again.
 * @param given as for `pipelineRuns.run`; without it, the person picks.
 */
export async function retryAtReset(deps: RetryDeps, given?: unknown): Promise<void> {
  const start = await chooseStart(deps, t("Run a Pipeline at 00:00 UTC"), given);
  if (start !== undefined) await deferToReset(deps, start);
}

/** Defers a start until the day's count starts again, and offers to cancel that. */
export async function deferToReset(
  deps: Pick<RetryDeps, "retries" | "signal" | "log" | "window">,
  start: ChosenStart,
): Promise<void> {
  const retry = await deps.retries.add(start, deps.signal);
  deps.log.info(`${retry.pipeline}: to be started at 00:00 UTC`);
  const takeBack = t("Cancel Retry");
  const chosen = await deps.window.showInformationMessage(
    t(
      "{0} will start at 00:00 UTC ({1} your time) if a window of this workspace is open then.",
      retry.pipeline,
      localTime(retry),
    ),
    takeBack,
  );
  if (chosen === takeBack) await deps.retries.cancel(retry);
}

/** “Cancel Retry…”: cancels a start that was deferred to 00:00 UTC. */
export async function cancelRetry({ retries, window }: Pick<RetryDeps, "retries" | "window">): Promise<void> {
  await retries.refresh();
  const items = retries.pending.value.map(retryItem);
  if (items.length === 0) {
    void window.showInformationMessage(t("No start is scheduled for 00:00 UTC."));
    return;
  }
  const words = { title: t("Cancel Retry"), placeHolder: t("Select the scheduled start to cancel") };
  const picked = items.length === 1 ? items[0] : await window.showQuickPick(items, words);
  if (picked === undefined) return;
  const { pipeline } = picked.retry;
  const isCancelled = await retries.cancel(picked.retry);
  void window.showInformationMessage(
    isCancelled
      ? t("{0} will not be started at 00:00 UTC.", pipeline)
      : t("{0} was started or cancelled meanwhile.", pipeline),
  );
}

const longestInputs = 100;

function retryItem(retry: PendingRetry) {
  return {
    label: withoutIcons(retry.pipeline),
    description: withoutIcons(retry.project ?? ""),
    detail: withoutIcons(
      [t("at 00:00 UTC ({0} your time)", localTime(retry)), inputsText(retry, longestInputs)]
        .filter(Boolean)
        .join(" · "),
    ),
    retry,
  };
}

/** On this machine's clock, without the jitter's seconds. */
function localTime({ dueAt }: PendingRetry): string {
  return timeOfDay(dueAt);
}

interface StopWaitingDeps {
  readonly waits: Waits;
  readonly window: Pick<typeof vscodeWindow, "showQuickPick" | "showInformationMessage">;
}

/** “Stop Waiting”: takes a waiting start out of the queue; if there are several, the one that the person picks. */
export async function stopWaiting({ waits, window }: StopWaitingDeps): Promise<void> {
  const items = waits.current.value.map(waitItem);
  if (items.length === 0) {
    void window.showInformationMessage(t("No start is waiting for a slot."));
    return;
  }
  const words = { title: t("Stop Waiting"), placeHolder: t("Select the start that should stop waiting") };
  const picked = items.length === 1 ? items[0] : await window.showQuickPick(items, words);
  if (picked !== undefined) waits.stop(picked.wait);
}

function waitItem(wait: Wait) {
  return {
    label: withoutIcons([wait.pipeline, inputsText(wait, longestInputs)].filter(Boolean).join(" · ")),
    description: waitText(wait),
    wait,
  };
}
