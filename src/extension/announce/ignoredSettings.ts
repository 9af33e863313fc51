import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { t } from "@vscode/l10n";
import type { Memento, window as vscodeWindow } from "vscode";

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
