import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { correction } from "../../pipeline/editing/problemSpan.ts";
import { rangeOf } from "./ranges.ts";

/** The `source` of every diagnostic of ours. */
export const source = "Pipeline Runs";

/** Puts the word that the parser took to be meant, and leads from a failed step to its run's log. */
export const fixes: vscode.CodeActionProvider = {
  provideCodeActions(document, _range, { diagnostics }) {
    const own = diagnostics.filter((diagnostic) => diagnostic.source === source);
    return own.flatMap((diagnostic) => fixOf(document, diagnostic) ?? logOf(diagnostic) ?? []);
  },
};

function fixOf(document: vscode.TextDocument, diagnostic: vscode.Diagnostic): vscode.CodeAction | undefined {
  const { start, end } = diagnostic.range;
  const span = { start: document.offsetAt(start), end: document.offsetAt(end) };
  const found = correction(document.getText(), span, diagnostic.message);
  if (found === undefined) return undefined;
  const action = new vscode.CodeAction(t("Change to `{0}`", found.meant), vscode.CodeActionKind.QuickFix);
  action.edit = new vscode.WorkspaceEdit();
  action.edit.replace(document.uri, rangeOf(document, found.span), found.text);
  action.diagnostics = [diagnostic];
  action.isPreferred = true;
  return action;
}

function logOf(diagnostic: vscode.Diagnostic): vscode.CodeAction | undefined {
  const { code } = diagnostic;
  if (typeof code !== "object" || typeof code.value !== "string") return undefined;
  const action = new vscode.CodeAction(t("Open the log of the failed run"), vscode.CodeActionKind.QuickFix);
  action.command = {
    title: action.title,
    command: "pipelineRuns.openLog",
    arguments: [{ runId: code.value }],
  };
  action.diagnostics = [diagnostic];
  return action;
}
