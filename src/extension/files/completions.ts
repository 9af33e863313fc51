import * as vscode from "vscode";
import { suggest } from "../../pipeline/editing/suggest.ts";
import type { Suggestion } from "../../pipeline/editing/suggestion.ts";

/** What begins something that is suggested at once: a value, a list's entry, a flow map, a reference. */
export const triggers = [" ", "-", "{", "$", "."] as const;

/** What can be typed, as `suggest` tells it. */
export const completions: vscode.CompletionItemProvider = {
  provideCompletionItems(document, position) {
    const found = suggest(document.getText(), document.offsetAt(position));
    const items = found.map((suggestion, index) => itemOf(suggestion, index, document));
    return new vscode.CompletionList(items);
  },
};

function itemOf(suggestion: Suggestion, index: number, document: vscode.TextDocument): vscode.CompletionItem {
  const item = new vscode.CompletionItem(suggestion.label, kindOf(suggestion.kind));
  if (suggestion.detail !== undefined) item.detail = suggestion.detail;
  if (suggestion.documentation !== undefined) {
    item.documentation = new vscode.MarkdownString(suggestion.documentation);
  }
  item.insertText = new vscode.SnippetString(suggestion.snippet);
  // The indentation is in the snippet already, since that of the line isn't that of a list's entry.
  item.keepWhitespace = true;
  const { start, end } = suggestion.replaces;
  item.range = new vscode.Range(document.positionAt(start), document.positionAt(end));
  item.sortText = String(index).padStart(4, "0");
  item.filterText = suggestion.typedAs ?? suggestion.label;
  if (suggestion.goesOn) item.command = { title: "", command: "editor.action.triggerSuggest" };
  return item;
}

function kindOf(kind: Suggestion["kind"]): vscode.CompletionItemKind {
  switch (kind) {
    case "field":
      return vscode.CompletionItemKind.Property;
    case "value":
      return vscode.CompletionItemKind.Value;
    case "resource":
      return vscode.CompletionItemKind.Variable;
    case "variable":
      return vscode.CompletionItemKind.Constant;
    case "whole":
      return vscode.CompletionItemKind.Snippet;
    default:
      return kind satisfies never;
  }
}
