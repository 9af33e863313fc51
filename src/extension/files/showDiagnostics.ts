import * as vscode from "vscode";
import { logUri } from "../log/runUri.ts";
import type { FailedStep } from "./failedSteps.ts";
import { source } from "./fixes.ts";
import { rangeBetween } from "./ranges.ts";
import type { ShownProblem } from "./shownProblem.ts";

/** Underlines what the parser found wrong. */
export function showProblems(
  collection: vscode.DiagnosticCollection,
  uri: vscode.Uri,
  problems: readonly ShownProblem[],
): void {
  collection.set(
    uri,
    problems.map(({ message, from, to }) => {
      const diagnostic = new vscode.Diagnostic(
        rangeBetween(from, to),
        message,
        vscode.DiagnosticSeverity.Error,
      );
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
  // The editor runs no command from here, but it opens a document.
  diagnostic.code = { value: runId, target: vscode.Uri.from(logUri(runId, pipeline)) };
  collection.set(uri, [diagnostic]);
}
