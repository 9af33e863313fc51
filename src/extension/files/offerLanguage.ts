import * as vscode from "vscode";
import type { Analyses } from "./analyses.ts";
import { completions, triggers } from "./completions.ts";
import { fixes } from "./fixes.ts";
import { hovers } from "./hovers.ts";
import { definitions, highlights, references, renames } from "./resourceNames.ts";
import { symbols } from "./symbols.ts";

/** Offers in certain files what an editor offers for a language, whatever language the editor takes them for. */
export function offerLanguage(
  files: vscode.DocumentSelector,
  analyses: Analyses,
  lenses: vscode.CodeLensProvider,
): vscode.Disposable {
  const { languages } = vscode;
  return vscode.Disposable.from(
    languages.registerCompletionItemProvider(files, completions, ...triggers),
    languages.registerHoverProvider(files, hovers(analyses)),
    languages.registerDefinitionProvider(files, definitions(analyses)),
    languages.registerReferenceProvider(files, references(analyses)),
    languages.registerDocumentHighlightProvider(files, highlights(analyses)),
    languages.registerRenameProvider(files, renames(analyses)),
    languages.registerDocumentSymbolProvider(files, symbols(analyses), { label: "Pipeline Runs" }),
    languages.registerCodeActionsProvider(files, fixes, {
      providedCodeActionKinds: [vscode.CodeActionKind.QuickFix],
    }),
    languages.registerCodeLensProvider(files, lenses),
  );
}
