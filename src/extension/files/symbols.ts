import * as vscode from "vscode";
import type { Analyses } from "./analyses.ts";
import { rangeOf } from "./ranges.ts";

/** The resources and the steps, for the outline, the breadcrumbs and Go to Symbol. */
export function symbols(analyses: Analyses): vscode.DocumentSymbolProvider {
  return {
    provideDocumentSymbols(document) {
      const { outline } = analyses.of(document);
      const resources = outline.resources.map(({ name, type, span }) =>
        symbol(document, name.text, type ?? "", vscode.SymbolKind.Variable, span, name),
      );
      const steps = outline.steps.map(({ label, use, name, span }) =>
        symbol(
          document,
          label,
          use?.text ?? "",
          vscode.SymbolKind.Function,
          span,
          name ?? { start: span.start, end: span.start },
        ),
      );
      return [...resources, ...steps];
    },
  };
}

function symbol(
  document: vscode.TextDocument,
  name: string,
  detail: string,
  kind: vscode.SymbolKind,
  whole: { readonly start: number; readonly end: number },
  shown: { readonly start: number; readonly end: number },
): vscode.DocumentSymbol {
  // The editor refuses a symbol without a name.
  return new vscode.DocumentSymbol(
    name.trim() === "" ? "…" : name,
    detail,
    kind,
    rangeOf(document, whole),
    rangeOf(document, shown),
  );
}
