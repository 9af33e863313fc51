import * as vscode from "vscode";
import { hoverAt } from "../../pipeline/editing/hover.ts";
import type { Analyses } from "./analyses.ts";
import { rangeOf } from "./ranges.ts";

/** What is told under the pointer, as `hoverAt` tells it; a piece of the file is shown as code, never read as Markdown. */
export function hovers(analyses: Analyses): vscode.HoverProvider {
  return {
    provideHover(document, position) {
      const { text, outline } = analyses.of(document);
      const found = hoverAt(text, outline, document.offsetAt(position));
      if (found === undefined) return undefined;
      const told = new vscode.MarkdownString(found.meaning);
      if (found.code !== undefined) told.appendCodeblock(found.code, "yaml");
      return new vscode.Hover(told, rangeOf(document, found.span));
    },
  };
}
