import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { settingsFile } from "./serverFolders.ts";

/** A window that asks for nothing and shows nothing but the folder and this project's extension. */
export const quietSettings: Readonly<Record<string, unknown>> = {
  "chat.disableAIFeatures": true,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.startupEditor": "none",
  "workbench.enableExperiments": false,
  "telemetry.telemetryLevel": "off",
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  "git.openRepositoryInParentFolders": "never",
  "remote.autoForwardPorts": false,
};

/** Writes the settings of a new data folder. A folder that has settings keeps them: they are the user's by now. */
export async function writeFirstSettings(
  dataFolder: string,
  settings: Readonly<Record<string, unknown>> = quietSettings,
): Promise<void> {
  const file = settingsFile(dataFolder);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  try {
    await writeFile(file, `${JSON.stringify(settings, undefined, 2)}\n`, { flag: "wx" });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}
