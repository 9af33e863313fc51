import { t } from "@vscode/l10n";
import type { QuickPickItem, window as vscodeWindow } from "vscode";
import { present, type QuotaStatus } from "../status/quotaStatus.ts";
import { type Entry, entriesOf } from "../status/statusActions.ts";

export interface ShowMenuDeps {
  readonly status: Pick<QuotaStatus, "facts">;
  readonly window: Pick<typeof vscodeWindow, "showQuickPick">;
  readonly isThere: (command: string) => boolean;
  readonly executeCommand: (command: string, ...parameters: unknown[]) => Thenable<unknown>;
}

interface EntryItem extends QuickPickItem {
  readonly entry: Entry;
}

/** “Show Menu…”, also by a click on the status bar: what is sensible now, the most likely first. */
export async function showMenu({ status, window, isThere, executeCommand }: ShowMenuDeps): Promise<void> {
  const facts = status.facts();
  const items = entriesOf(facts, isThere).map(
    (entry): EntryItem => ({ label: `$(${entry.icon}) ${entry.label}`, entry }),
  );
  const picked = await window.showQuickPick(items, {
    title: t("Pipeline Runs"),
    placeHolder: present(facts)?.text ?? t("What is to be done?"),
  });
  if (picked !== undefined) await executeCommand(picked.entry.command, ...picked.entry.args);
}
