import type * as vscode from "vscode";

/**
 * Numbers of the editor's enumerations that modules need which a plain test can load, where no `vscode` is to be had.
 * A test in the editor holds them to the real ones.
 */
export const ProgressLocation = {
  notification: 15 satisfies vscode.ProgressLocation.Notification,
  window: 10 satisfies vscode.ProgressLocation.Window,
} as const;

export const QuickPickItemKind = {
  separator: -1 satisfies vscode.QuickPickItemKind.Separator,
} as const;
