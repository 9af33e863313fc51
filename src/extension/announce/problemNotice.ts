import { t } from "@vscode/l10n";
import type { window as vscodeWindow } from "vscode";
import { describeError, PipelineError } from "../../contract/errors.ts";
import { ServiceStopped } from "../../machine/stoppedFile.ts";
import { inOneLine } from "../window/plainWindow.ts";
import type { FilePosition } from "../window/workspace.ts";

export interface NoticeDeps {
  readonly window: Pick<typeof vscodeWindow, "showErrorMessage">;
  readonly executeCommand: (command: string, ...parameters: unknown[]) => Thenable<unknown>;
  readonly openPosition: (root: string, place: FilePosition) => Thenable<unknown>;
  /** Records that the notification of the refused key is shown, so that no other one follows. */
  readonly onKeyRefused: () => Promise<void>;
}

/** A problem of a pipeline file. */
export class FileProblem extends PipelineError {
  /** The folder of the file's project, if known, so that the file can be opened. */
  readonly root: string | undefined;

  constructor(root: string | undefined, message: string, options: { next?: string; cause?: unknown }) {
    super("invalid-request", message, options);
    this.root = root;
  }
}

/** Thrown because nothing is started in an untrusted workspace. */
export class Untrusted extends PipelineError {
  constructor() {
    const why = t("Pipelines of a workspace that isn't trusted are not run: their steps run programs.");
    super("usage", why, { next: t("Trust the workspace first.") });
  }
}

/** Shows an error with its next step as a button, and only the first of a file's problems. Resolves when it is answered. */
export async function showProblem(error: unknown, deps: NoticeDeps): Promise<void> {
  if (isKeyRefused(error)) await deps.onKeyRefused();
  const text =
    error instanceof ServiceStopped
      ? t("This machine's own service was stopped. A run starts it again.")
      : describeError(error);
  const step = nextStep(error, text, deps);
  const chosen = await deps.window.showErrorMessage(inOneLine(text), step.title);
  if (chosen === step.title) await step.take();
}

function nextStep(
  error: unknown,
  text: string,
  deps: NoticeDeps,
): { readonly title: string; readonly take: () => unknown } {
  const place = findPosition(text);
  const root = error instanceof FileProblem ? error.root : undefined;
  if (place !== undefined && root !== undefined) {
    return { title: t("Open File"), take: () => deps.openPosition(root, place) };
  }
  if (error instanceof Untrusted) {
    return {
      title: t("Manage Workspace Trust"),
      take: () => deps.executeCommand("workbench.trust.manage"),
    };
  }
  if (error instanceof ServiceStopped) {
    return { title: t("Start"), take: () => deps.executeCommand("pipelineRuns.startService") };
  }
  if (isKeyRefused(error)) {
    return { title: t("Set API Key…"), take: () => deps.executeCommand("pipelineRuns.setApiKey") };
  }
  if (error instanceof PipelineError && (error.type === "breaks-contract" || error.type === "usage")) {
    return {
      title: t("Open Settings"),
      take: () => deps.executeCommand("workbench.action.openSettings", "pipelineRuns."),
    };
  }
  return { title: t("Show Log"), take: () => deps.executeCommand("pipelineRuns.showLog") };
}

function isKeyRefused(error: unknown): boolean {
  return error instanceof PipelineError && error.type === "unauthorized";
}

/** In characters. A problem begins with its position, and a hostile service may send an endless text. */
const longestSearched = 4_000;

/** The first position that the text of a file's problem names. */
export function findPosition(text: string): FilePosition | undefined {
  const [, path, line, column] =
    /(pipelines\/[^\n:]+\.yaml):(\d+):(\d+): /.exec(text.slice(0, longestSearched)) ?? [];
  if (path === undefined) return undefined;
  return { path, line: Number(line), column: Number(column) };
}
