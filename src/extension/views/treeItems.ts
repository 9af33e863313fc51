import * as vscode from "vscode";
import type { Row, TooltipLine } from "./row.ts";

/** The editor's own object for a row; its tooltip is made only when somebody hovers over it. */
export function treeItem(row: Row): vscode.TreeItem {
  const item = new vscode.TreeItem(row.label, foldings[row.folding]);
  item.id = row.id;
  item.contextValue = row.tokens.join(" ");
  item.accessibilityInformation = { label: row.spoken };
  if (row.description !== undefined) item.description = row.description;
  if (row.icon !== undefined) item.iconPath = icon(row.icon);
  if (row.address !== undefined) item.resourceUri = vscode.Uri.parse(row.address);
  const command = commandOf(row);
  if (command !== undefined) item.command = command;
  return item;
}

/** The lines as Markdown in which no text from elsewhere means anything. */
export function markdown(lines: readonly TooltipLine[]): vscode.MarkdownString {
  const text = new vscode.MarkdownString();
  for (const [index, line] of lines.entries()) {
    if (index > 0) text.appendMarkdown("  \n");
    if (line.name !== undefined) {
      text.appendMarkdown("**");
      appendWords(text, line.name);
      text.appendMarkdown("**&ensp;");
    }
    appendWords(text, line.text);
  }
  return text;
}

const foldings = {
  none: vscode.TreeItemCollapsibleState.None,
  collapsed: vscode.TreeItemCollapsibleState.Collapsed,
  expanded: vscode.TreeItemCollapsibleState.Expanded,
} as const;

function icon({ id, color }: NonNullable<Row["icon"]>): vscode.ThemeIcon {
  return color === undefined
    ? new vscode.ThemeIcon(id)
    : new vscode.ThemeIcon(id, new vscode.ThemeColor(color));
}

function commandOf({ action, label }: Row): vscode.Command | undefined {
  if (action === undefined) return undefined;
  if (action.kind === "command") {
    return { command: action.command, title: label, arguments: [action.argument] };
  }
  const uri = vscode.Uri.file(action.file);
  if (action.line === undefined) return { command: "vscode.open", title: label, arguments: [uri] };
  const place = new vscode.Position(action.line - 1, (action.column ?? 1) - 1);
  const selection = new vscode.Range(place, place);
  return { command: "vscode.open", title: label, arguments: [uri, { selection }] };
}

/** Word by word, since the editor makes spaces of such a text unbreakable, and long ones would not wrap. */
function appendWords(text: vscode.MarkdownString, words: string): void {
  for (const [line, part] of words.split("\n").entries()) {
    if (line > 0) text.appendMarkdown("  \n");
    for (const [index, word] of part.split(" ").entries()) {
      if (index > 0) text.appendMarkdown(" ");
      text.appendText(word);
    }
  }
}
