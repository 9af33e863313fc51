import * as vscode from "vscode";
import type { Span } from "../../pipeline/editing/tree.ts";
import type { TextPlace } from "./shownProblem.ts";

export function rangeOf(document: vscode.TextDocument, { start, end }: Span): vscode.Range {
  return new vscode.Range(document.positionAt(start), document.positionAt(end));
}

export function rangeBetween(from: TextPlace, to: TextPlace): vscode.Range {
  return new vscode.Range(from.line, from.character, to.line, to.character);
}
