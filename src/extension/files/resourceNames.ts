import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { problemOfNewName, renameResource, resourceAt } from "../../pipeline/editing/outline.ts";
import type { Analyses } from "./analyses.ts";
import { rangeOf } from "./ranges.ts";

/** From a step's `use` to the resource's definition. */
export function definitions(analyses: Analyses): vscode.DefinitionProvider {
  return {
    provideDefinition(document, position) {
      const named = resourceAt(analyses.of(document).outline, document.offsetAt(position));
      return named?.definitions.map((text) => new vscode.Location(document.uri, rangeOf(document, text)));
    },
  };
}

/** Every step that uses a resource. */
export function references(analyses: Analyses): vscode.ReferenceProvider {
  return {
    provideReferences(document, position, { includeDeclaration }) {
      const named = resourceAt(analyses.of(document).outline, document.offsetAt(position));
      const found = [...(includeDeclaration ? (named?.definitions ?? []) : []), ...(named?.uses ?? [])];
      return found.map((text) => new vscode.Location(document.uri, rangeOf(document, text)));
    },
  };
}

/** Gives a resource another name, wherever the file names it. */
export function renames(analyses: Analyses): vscode.RenameProvider {
  return {
    prepareRename(document, position) {
      const named = resourceAt(analyses.of(document).outline, document.offsetAt(position));
      if (named === undefined)
        throw new Error(t("Only a resource can be renamed: at its definition, or behind `use`."));
      return { range: rangeOf(document, named.asked), placeholder: named.name };
    },
    provideRenameEdits(document, position, newName) {
      const { outline } = analyses.of(document);
      const named = resourceAt(outline, document.offsetAt(position));
      if (named === undefined) return undefined;
      const problem = problemOfNewName(outline, named.name, newName);
      if (problem !== undefined) throw new Error(problem);
      const edit = new vscode.WorkspaceEdit();
      for (const { span, text } of renameResource(named, newName)) {
        edit.replace(document.uri, rangeOf(document, span), text);
      }
      return edit;
    },
  };
}

/** Where a resource is named, so that the editor marks all of them together. */
export function highlights(analyses: Analyses): vscode.DocumentHighlightProvider {
  return {
    provideDocumentHighlights(document, position) {
      const named = resourceAt(analyses.of(document).outline, document.offsetAt(position));
      if (named === undefined) return undefined;
      return [...named.definitions, ...named.uses].map(
        (text) => new vscode.DocumentHighlight(rangeOf(document, text), vscode.DocumentHighlightKind.Read),
      );
    },
  };
}
