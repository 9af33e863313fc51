import type * as vscode from "vscode";

/**
 * The editor's enumerations, for modules that unit tests load without `vscode`. A test in the editor compares them with the real
 * ones.
 */
export const ProgressLocation = {
  notification: 15 satisfies vscode.ProgressLocation.Notification,
  window: 10 satisfies vscode.ProgressLocation.Window,
} as const;

export const QuickPickItemKind = {
  separator: -1 satisfies vscode.QuickPickItemKind.Separator,
} as const;
