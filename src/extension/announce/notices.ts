import { constants, open } from "node:fs/promises";
import { join } from "node:path";
import { t } from "@vscode/l10n";
import type { Disposable, Memento, window as vscodeWindow } from "vscode";
import { describeError, PipelineError } from "../../contract/errors.ts";
import { quotaLevel, utcDay } from "../../contract/limits.ts";
import { ServiceStopped } from "../../machine/connectionFile.ts";
import { serviceNow } from "../session/serviceConnection.ts";
import type { Session } from "../session/session.ts";
import type { Claims } from "../window/claims.ts";
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

export interface QuotaNoticeDeps {
  readonly session: Pick<Session, "state" | "reading" | "origin">;
  readonly claims: Pick<Claims, "claim">;
  readonly window: Pick<typeof vscodeWindow, "showInformationMessage">;
  readonly isOn: () => boolean;
  readonly switchOff: () => Thenable<void>;
  readonly executeCommand: (command: string) => Thenable<unknown>;
  /** This machine's clock, in milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Says once a day, in one window, that few of the day's runs are left: from 80 % used, like the status bar's warning colour. Says
 * nothing once they are used up, since a refused start does.
 */
export function watchQuota(deps: QuotaNoticeDeps): Disposable {
  // If claims can't be stored, every claim would count as the first.
  const claimed = new Set<string>();
  return deps.session.state.observe(() => void noticeOnce(deps, claimed));
}

/** @param claimed the names that this window has claimed, one for each day. */
async function noticeOnce(deps: QuotaNoticeDeps, claimed: Set<string>): Promise<void> {
  const { session, claims, window, isOn, switchOff, executeCommand } = deps;
  const state = session.state.value;
  const reading = session.reading.value;
  if (state.kind !== "live" || reading === undefined || !isOn()) return;
  const { org } = state;
  if (quotaLevel(org) !== "low") return;
  const now = serviceNow(reading, deps.now());
  const name = `quota/${session.origin}/${org.orgId}/${utcDay(now)}`;
  if (claimed.has(name)) return;
  claimed.add(name);
  if (!(await claims.claim(name))) return;
  // Stays true after later runs, since an editor's notification can't be changed.
  const text = t(
    "At least {0} of today's {1} runs are used. The count starts again at 00:00 UTC.",
    org.usage.runsToday,
    org.limits.runsPerDay,
  );
  const showRuns = t("Show Runs");
  const never = t("Don't Show Again");
  const chosen = await window.showInformationMessage(text, showRuns, never);
  if (chosen === showRuns) await executeCommand("pipelineRuns.runs.focus");
  if (chosen === never) await switchOff();
}

export interface IgnoredSettingsDeps {
  readonly folders: () => readonly string[];
  /** The workspace's file on this machine, if the workspace was saved. */
  readonly workspaceFile: () => string | undefined;
  readonly memento: Pick<Memento, "get" | "update">;
  readonly window: Pick<typeof vscodeWindow, "showWarningMessage">;
  readonly executeCommand: (command: string, ...parameters: unknown[]) => Thenable<unknown>;
}

/** Settings that count only in the user settings. All but `announce` decide where the key goes or which program gets it. */
const userOnlySettings = ["announce", "baseUrl", "cliPath"];
const largestRead = 256 * 1024;
const warnedKey = "toldIgnoredSettings";

/**
 * Warns, once for each set of settings, that the workspace's files set what only the user settings may set. The editor ignores
 * such settings silently.
 */
export async function warnOfIgnoredSettings(deps: IgnoredSettingsDeps): Promise<void> {
  const { folders, workspaceFile, memento, window, executeCommand } = deps;
  const ofWorkspace = workspaceFile();
  const files = folders().map((folder) => join(folder, ".vscode/settings.json"));
  if (ofWorkspace !== undefined) files.push(ofWorkspace);
  const texts = await Promise.all(files.map(beginningOf));
  const found = userOnlySettings.filter((name) =>
    texts.some((text) => text.includes(`"pipelineRuns.${name}"`)),
  );
  const names = found.join(" ");
  if (names === (memento.get<unknown>(warnedKey) ?? "")) return;
  await memento.update(warnedKey, names);
  if (found.length === 0) return;
  const settings = t("Open User Settings");
  const chosen = await window.showWarningMessage(
    t(
      "A file of this workspace sets {0}. It is not used: only your user settings say which service gets your API key.",
      found.map((name) => `pipelineRuns.${name}`).join(", "),
    ),
    settings,
  );
  if (chosen === settings) await executeCommand("workbench.action.openSettings", "pipelineRuns.");
}

/** @returns an empty text if there is no readable file; opening a named pipe would block forever. */
async function beginningOf(path: string): Promise<string> {
  try {
    // Windows has no such flag, and no named pipes among its files.
    await using file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    if (!(await file.stat()).isFile()) return "";
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(largestRead) });
    return buffer.toString("utf8", 0, bytesRead);
  } catch {
    return "";
  }
}
