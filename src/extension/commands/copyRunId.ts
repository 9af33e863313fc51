import { t } from "@vscode/l10n";
import type { Clipboard, window as vscodeWindow } from "vscode";
import { withoutIcons } from "../announce/plainWindow.ts";
import { type RecentRunDeps, recentRun, runIdOf } from "./pickRun.ts";

export interface CopyRunIdDeps extends RecentRunDeps {
  readonly clipboard: Pick<Clipboard, "writeText">;
  readonly window: RecentRunDeps["window"] & Pick<typeof vscodeWindow, "setStatusBarMessage">;
}

/** How long the status bar says what was copied, in milliseconds. */
const saidFor = 3000;

/** “Copy Run Id…”: puts a run's id on the clipboard, for the terminal, a search or a colleague. */
export async function copyRunId(deps: CopyRunIdDeps, argument?: unknown): Promise<void> {
  const words = { title: t("Copy Run Id"), placeHolder: t("Pick the run whose id is to be copied") };
  const runId = runIdOf(argument) ?? (await recentRun(undefined, words, deps))?.runId;
  if (runId === undefined) return;
  await deps.clipboard.writeText(runId);
  deps.window.setStatusBarMessage(withoutIcons(t("Copied {0}", runId)), saidFor);
}
