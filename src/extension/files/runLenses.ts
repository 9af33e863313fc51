import * as vscode from "vscode";
import type { RunListState } from "../session/runList.ts";
import type { Wait } from "../start/waits.ts";
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
  readonly isTrusted: () => boolean;
}

/** In milliseconds: how often “2 min ago” is updated. */
const everyMinute = 60_000;

/** The code lenses of pipeline files, kept up to date by the list of runs. */
export class RunLenses implements vscode.CodeLensProvider, vscode.Disposable {
  readonly #deps: LensDeps;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #subscriptions: readonly vscode.Disposable[];
  readonly onDidChangeCodeLenses = this.#changed.event;

  constructor(deps: LensDeps) {
    this.#deps = deps;
    const tick = setInterval(() => this.draw(), everyMinute);
    const redraw = () => this.draw();
    this.#subscriptions = [
      deps.runs.observe(redraw),
      deps.waits.observe(redraw),
      vscode.workspace.onDidGrantWorkspaceTrust(redraw),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration("pipelineRuns.codeLens")) redraw();
      }),
      { dispose: () => clearInterval(tick) },
    ];
  }

  draw(): void {
    this.#changed.fire();
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const { analyses, runs, waits, nameOf, isTrusted } = this.#deps;
    const isOn = vscode.workspace.getConfiguration("pipelineRuns", document).get<boolean>("codeLens", true);
    const named = nameOf(document);
    if (!isOn || !isTrusted() || named === undefined) return [];
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
    return lenses.map((lens) => new vscode.CodeLens(line, { ...lens, title: apart(lens.title) }));
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) subscription.dispose();
    this.#changed.dispose();
  }
}

/** The editor drops a plain space behind an icon. */
function apart(title: string): string {
  return title.replace(/^(\$\([^)]*\)) /, "$1\u00a0");
}
