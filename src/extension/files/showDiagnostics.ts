import * as vscode from "vscode";
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
  const { runId, message, from, to } = failed;
  const diagnostic = new vscode.Diagnostic(rangeBetween(from, to), message, vscode.DiagnosticSeverity.Error);
  diagnostic.source = source;
  const open = encodeURIComponent(JSON.stringify([{ runId }]));
  diagnostic.code = { value: runId, target: vscode.Uri.parse(`command:pipelineRuns.openLog?${open}`) };
  collection.set(uri, [diagnostic]);
}
