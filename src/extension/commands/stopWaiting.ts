import { t } from "@vscode/l10n";
import type { QuickPickItem, window as vscodeWindow } from "vscode";
import { withoutIcons } from "../announce/plainWindow.ts";
import type { Wait, Waits } from "../start/waits.ts";

export interface StopWaitingDeps {
  readonly waits: Waits;
  readonly window: Pick<typeof vscodeWindow, "showQuickPick" | "showInformationMessage">;
}

interface WaitItem extends QuickPickItem {
  readonly wait: Wait;
}

/** “Stop Waiting”: gives up the turn of a start that waits for a place; of several, the one that the person picks. */
export async function stopWaiting({ waits, window }: StopWaitingDeps): Promise<void> {
  const [only, ...others] = waits.current.value;
  if (only === undefined) {
    void window.showInformationMessage(t("Nothing waits for a place."));
    return;
  }
  const items = [only, ...others].map((wait) => waitItem(wait));
  const picked =
    others.length === 0
      ? waitItem(only)
      : await window.showQuickPick<WaitItem>(items, {
          title: t("Stop Waiting"),
          placeHolder: t("Pick the start to give up"),
        });
  if (picked !== undefined) waits.stop(picked.wait);
}

function waitItem(wait: Wait): WaitItem {
  return { label: withoutIcons(wait.pipeline), description: t("{0} s left", wait.secondsLeft), wait };
}
