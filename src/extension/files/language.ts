import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { hoverAt } from "../../pipeline/editing/hover.ts";
import { namedAt, partAt, problemOfNewName, renameAll } from "../../pipeline/editing/named.ts";
import { outlineOf } from "../../pipeline/editing/outline.ts";
import { suggest } from "../../pipeline/editing/suggest.ts";
import type { Suggestion } from "../../pipeline/editing/suggestion.ts";
import type { Fix, Span } from "../../pipeline/mistakes/problem.ts";
import { logUri } from "../log/runUri.ts";
import { type Analyses, fixFor, positionAt, type ShownProblem, type TextPosition } from "./analyses.ts";
import type { FailedStep } from "./failedSteps.ts";

/** Registers the language features for pipeline files, whatever language the editor detects. */
export function offerLanguage(
  files: vscode.DocumentSelector,
  analyses: Analyses,
  lenses: vscode.CodeLensProvider,
): vscode.Disposable {
  const { languages } = vscode;
  return vscode.Disposable.from(
    languages.registerCompletionItemProvider(files, completions(analyses), ...triggers),
    languages.registerHoverProvider(files, hovers(analyses)),
    languages.registerDefinitionProvider(files, definitions(analyses)),
    languages.registerReferenceProvider(files, references(analyses)),
    languages.registerDocumentHighlightProvider(files, highlights(analyses)),
    languages.registerRenameProvider(files, renames(analyses)),
    languages.registerDocumentSymbolProvider(files, symbols(analyses), { label: "Pipeline Runs" }),
    languages.registerCodeActionsProvider(files, fixes(analyses), {
      providedCodeActionKinds: [vscode.CodeActionKind.QuickFix],
    }),
    languages.registerCodeLensProvider(files, lenses),
  );
}

/** Shows what `hoverAt` finds; parts of the file are shown as code, never as Markdown. */
function hovers(analyses: Analyses): vscode.HoverProvider {
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

/** The `source` of all our diagnostics. */
const source = "Pipeline Runs";

/** Offers the fix for a problem, and the log of a failed step's run. */
function fixes(analyses: Analyses): vscode.CodeActionProvider {
  return {
    provideCodeActions(document, _range, { diagnostics }) {
      const own = diagnostics.filter((diagnostic) => diagnostic.source === source);
      return own.flatMap((diagnostic) => fixOf(document, analyses, diagnostic) ?? logOf(diagnostic) ?? []);
    },
  };
}

function fixOf(
  document: vscode.TextDocument,
  analyses: Analyses,
  diagnostic: vscode.Diagnostic,
): vscode.CodeAction | undefined {
  const { start, end } = diagnostic.range;
  const span = { start: document.offsetAt(start), end: document.offsetAt(end) };
  const found = fixFor(analyses.of(document), span, diagnostic.message);
  if (found === undefined) return undefined;
  const action = new vscode.CodeAction(titleOf(found), vscode.CodeActionKind.QuickFix);
  action.edit = new vscode.WorkspaceEdit();
  for (const { span: part, text } of found.edits) {
    action.edit.replace(document.uri, rangeOf(document, part), text);
  }
  action.diagnostics = [diagnostic];
  action.isPreferred = true;
  return action;
}

function titleOf({ kind, edits: [first] }: Fix): string {
  return {
    quote: t("Put it in quotes"),
    indent: t("Correct the indentation"),
    dash: t("Insert a dash"),
    move: t("Move it to the next line"),
    space: t("Insert a space"),
    insert: t("Insert `{0}`", first.text.trim()),
    remove: t("Remove it"),
    change: t("Change to `{0}`", first.text),
  }[kind];
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

/** The characters that open the suggestions: for a value, a list's entry, a flow map, an expression. */
const triggers = [" ", "-", "{", "$", ".", "("] as const;

function completions(analyses: Analyses): vscode.CompletionItemProvider {
  return {
    provideCompletionItems(document, position) {
      const found = suggest(document.getText(), document.offsetAt(position), analyses.around(document.uri));
      const items = found.map((suggestion, index) => itemOf(suggestion, index, document));
      return new vscode.CompletionList(items);
    },
  };
}

function itemOf(suggestion: Suggestion, index: number, document: vscode.TextDocument): vscode.CompletionItem {
  const item = new vscode.CompletionItem(suggestion.label, kinds[suggestion.kind]);
  if (suggestion.detail !== undefined) item.detail = suggestion.detail;
  if (suggestion.documentation !== undefined) {
    item.documentation = new vscode.MarkdownString(suggestion.documentation);
  }
  item.insertText = new vscode.SnippetString(suggestion.snippet);
  // The snippet has its own indentation, which differs from the line's in a list.
  item.keepWhitespace = true;
  item.range = rangeOf(document, suggestion.replaces);
  item.sortText = String(index).padStart(4, "0");
  item.filterText = suggestion.typedAs ?? suggestion.label;
  if (suggestion.goesOn) item.command = { title: "", command: "editor.action.triggerSuggest" };
  return item;
}

const kinds: Readonly<Record<Suggestion["kind"], vscode.CompletionItemKind>> = {
  field: vscode.CompletionItemKind.Property,
  value: vscode.CompletionItemKind.Value,
  resource: vscode.CompletionItemKind.Variable,
  variable: vscode.CompletionItemKind.Constant,
  function: vscode.CompletionItemKind.Function,
  whole: vscode.CompletionItemKind.Snippet,
};

/** The inputs, resources and steps, for the outline, the breadcrumbs and Go to Symbol. */
function symbols(analyses: Analyses): vscode.DocumentSymbolProvider {
  return {
    provideDocumentSymbols(document) {
      const { outline } = analyses.of(document);
      const resources = outline.resources.map(({ name, type, span }) =>
        symbol(document, name.text, type ?? "", vscode.SymbolKind.Variable, span, name),
      );
      const inputs = outline.inputs.map(({ name, type }) =>
        symbol(document, name.text, type, vscode.SymbolKind.Property, name, name),
      );
      const steps = outline.steps.map(({ list, label, use, name, span, include }) =>
        symbol(
          document,
          label,
          [list === "finally" ? list : undefined, use?.text ?? include?.text].filter(Boolean).join(" · "),
          vscode.SymbolKind.Function,
          span,
          name ?? { start: span.start, end: span.start },
        ),
      );
      return [...inputs, ...resources, ...steps];
    },
  };
}

function symbol(
  document: vscode.TextDocument,
  name: string,
  detail: string,
  kind: vscode.SymbolKind,
  whole: Span,
  shown: Span,
): vscode.DocumentSymbol {
  // The editor refuses a symbol without a name.
  const label = name.trim() === "" ? "…" : name;
  return new vscode.DocumentSymbol(label, detail, kind, rangeOf(document, whole), rangeOf(document, shown));
}

/** Goes from a use to the definition, and from an `include` to the included file or to the input that it is given. */
function definitions(analyses: Analyses): vscode.DefinitionProvider {
  return {
    provideDefinition(document, position) {
      const offset = document.offsetAt(position);
      const { text, outline } = analyses.of(document);
      const part = partAt(text, outline, offset);
      const file = part && analyses.partOf(document.uri, part.path);
      if (part !== undefined && file !== undefined) {
        const { inputs, outputs } = outlineOf(file.text);
        const named =
          inputs.find(({ name }) => name.text === part.input)?.name ??
          outputs.find((name) => name.text === part.output);
        const { line, character } = positionAt(file.text, named?.start ?? 0);
        return new vscode.Location(file.uri, new vscode.Position(line, character));
      }
      const named = namedIn(document, position, analyses);
      return named?.definitions.map((span) => new vscode.Location(document.uri, rangeOf(document, span)));
    },
  };
}

function references(analyses: Analyses): vscode.ReferenceProvider {
  return {
    provideReferences(document, position, { includeDeclaration }) {
      const named = namedIn(document, position, analyses);
      const found = [...(includeDeclaration ? (named?.definitions ?? []) : []), ...(named?.uses ?? [])];
      return found.map((span) => new vscode.Location(document.uri, rangeOf(document, span)));
    },
  };
}

function renames(analyses: Analyses): vscode.RenameProvider {
  return {
    prepareRename(document, position) {
      const named = namedIn(document, position, analyses);
      if (named === undefined)
        throw new Error(
          t("Only a resource, an `id` or an input can be renamed: where it is defined, or where it is used."),
        );
      return { range: rangeOf(document, named.asked), placeholder: named.name };
    },
    provideRenameEdits(document, position, newName) {
      const named = namedIn(document, position, analyses);
      if (named === undefined) return undefined;
      const problem = problemOfNewName(analyses.of(document).outline, named, newName);
      if (problem !== undefined) throw new Error(problem);
      const edit = new vscode.WorkspaceEdit();
      for (const { span, text } of renameAll(named, newName)) {
        edit.replace(document.uri, rangeOf(document, span), text);
      }
      return edit;
    },
  };
}

function highlights(analyses: Analyses): vscode.DocumentHighlightProvider {
  return {
    provideDocumentHighlights(document, position) {
      const named = namedIn(document, position, analyses);
      if (named === undefined) return undefined;
      return [...named.definitions, ...named.uses].map(
        (span) => new vscode.DocumentHighlight(rangeOf(document, span), vscode.DocumentHighlightKind.Read),
      );
    },
  };
}

function namedIn(document: vscode.TextDocument, position: vscode.Position, analyses: Analyses) {
  const { text, outline } = analyses.of(document);
  return namedAt(text, outline, document.offsetAt(position));
}

export function showProblems(
  collection: vscode.DiagnosticCollection,
  uri: vscode.Uri,
  problems: readonly ShownProblem[],
): void {
  collection.set(
    uri,
    problems.map(({ message, isWarning, from, to }) => {
      const { Error: problem, Warning: warning } = vscode.DiagnosticSeverity;
      const severity = isWarning === true ? warning : problem;
      const diagnostic = new vscode.Diagnostic(rangeBetween(from, to), message, severity);
      diagnostic.source = source;
      return diagnostic;
    }),
  );
}

/** Underlines the step at which the last run failed; the diagnostic's code leads to the run's log. */
export function showFailedStep(
  collection: vscode.DiagnosticCollection,
  uri: vscode.Uri,
  failed: FailedStep | undefined,
): void {
  if (failed === undefined) {
    collection.delete(uri);
    return;
  }
  const { runId, pipeline, message, from, to } = failed;
  const diagnostic = new vscode.Diagnostic(rangeBetween(from, to), message, vscode.DiagnosticSeverity.Error);
  diagnostic.source = source;
  // The link can't run a command, but it can open a document.
  diagnostic.code = { value: runId, target: vscode.Uri.from(logUri(runId, pipeline)) };
  collection.set(uri, [diagnostic]);
}

function rangeOf(document: vscode.TextDocument, { start, end }: Span): vscode.Range {
  return new vscode.Range(document.positionAt(start), document.positionAt(end));
}

function rangeBetween(from: TextPosition, to: TextPosition): vscode.Range {
  return new vscode.Range(from.line, from.character, to.line, to.character);
}
