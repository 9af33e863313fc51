import * as vscode from "vscode";
import type { RunListState } from "../session/runList.ts";
import type { Wait } from "../start/waitNotice.ts";
import type { ObservableValue } from "../window/observable.ts";
import type { Analyses } from "./analyses.ts";
import { lensesOf, runsOf, waitOf } from "./lenses.ts";

export interface NamedFile {
  readonly pipeline: string;
  readonly project: string;
  /** See `lensesOf`. */
  readonly file: { readonly root: string; readonly path: string } | undefined;
}

interface LensDeps {
  readonly analyses: Analyses;
  readonly runs: ObservableValue<RunListState>;
  readonly waits: ObservableValue<readonly Wait[]>;
  /** The pipeline and project of a file; undefined for any other file. */
  readonly nameOf: (document: vscode.TextDocument) => NamedFile | undefined;
}

/** In milliseconds: how often “2 min ago” is updated. */
const everyMinute = 60_000;

/** The code lenses of pipeline files, kept up to date by the list of runs. */
export function runLenses({ analyses, runs, waits, nameOf }: LensDeps) {
  const { workspace } = vscode;
  const changed = new vscode.EventEmitter<void>();
  const draw = () => changed.fire();
  const tick = setInterval(draw, everyMinute);
  const owned = vscode.Disposable.from(
    runs.observe(draw),
    waits.observe(draw),
    workspace.onDidGrantWorkspaceTrust(draw),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("pipelineRuns.codeLens")) draw();
    }),
    { dispose: () => clearInterval(tick) },
    changed,
  );
  return {
    draw,
    onDidChangeCodeLenses: changed.event,
    provideCodeLenses: (document: vscode.TextDocument): vscode.CodeLens[] => {
      const isOn = workspace.getConfiguration("pipelineRuns", document).get<boolean>("codeLens", true);
      const named = nameOf(document);
      if (!isOn || !workspace.isTrusted || named === undefined) return [];
      const { parsed } = analyses.of(document);
      const lenses = lensesOf({
        ...named,
        problems: parsed.kind === "valid" ? 0 : parsed.problems.length,
        pipelineNow: parsed.kind === "valid" ? parsed.pipeline : undefined,
        runs: runsOf(runs.value, named.pipeline, named.project),
        wait: waitOf(waits.value, named.pipeline, named.project),
        now: Date.now() + (runs.value.kind === "listed" ? runs.value.clockAhead : 0),
      });
      const line = new vscode.Range(0, 0, 0, 0);
      return lenses.map(({ title, ...lens }) => {
        // A no-break space after an icon, since the editor drops a plain one.
        const apart = title.replace(/^(\$\([^)]*\)) /, "$1\u00a0");
        return new vscode.CodeLens(line, { ...lens, title: apart });
      });
    },
    dispose: () => owned.dispose(),
  };
}
