import { randomBytes } from "node:crypto";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { withoutScriptVariables } from "../process/npm.ts";

/** All of VS Code's own extensions, none of them, or those of these names. */
export type BuiltinExtensions = boolean | readonly string[];

/** The arguments that keep everything the server writes inside `dataFolder`, away from the user's own VS Code. */
export async function folderArguments(
  dataFolder: string,
  builtin: BuiltinExtensions,
  serverMain: string,
): Promise<string[]> {
  const own = ["--server-data-dir", dataFolder, "--extensions-dir", join(dataFolder, "extensions")];
  if (builtin === true) return own;
  const some = join(dataFolder, "some-extensions");
  await rm(some, { recursive: true, force: true });
  await mkdir(some, { recursive: true, mode: 0o700 });
  const all = join(dirname(serverMain), "../extensions");
  for (const name of builtin || []) await symlink(join(all, name), join(some, name));
  return [...own, "--builtin-extensions-dir", some];
}

/** Where the server reads the user's settings. */
export function settingsFile(dataFolder: string): string {
  return join(dataFolder, "data/User/settings.json");
}

/** A window that asks for nothing and shows nothing but the folder and this project's extension. */
export const quietSettings: Readonly<Record<string, unknown>> = {
  "chat.disableAIFeatures": true,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.startupEditor": "none",
  "workbench.enableExperiments": false,
  "telemetry.telemetryLevel": "off",
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": "off",
  "extensions.ignoreRecommendations": true,
  "git.openRepositoryInParentFolders": "never",
  "remote.autoForwardPorts": false,
};

/** Writes the settings of a new data folder. A folder that has settings keeps them: they are the user's by now. */
export async function writeFirstSettings(
  dataFolder: string,
  settings: Readonly<Record<string, unknown>> = quietSettings,
): Promise<void> {
  await writeOnce(settingsFile(dataFolder), `${JSON.stringify(settings, undefined, 2)}\n`);
}

/**
 * Has the servers of `dataFolder` load an extension from the folder where it lies, in place of any other of its name, as VS Code's
 * own "Install Extension from Location…" does. What else is installed stays.
 */
export async function listExtension(dataFolder: string, folder: string): Promise<void> {
  const { publisher, name, version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const id = `${publisher}.${name}`;
  const listFile = join(dataFolder, "extensions/extensions.json");
  await writeOnce(listFile, "[]");
  const listed: { identifier: { id: string } }[] = JSON.parse(await readFile(listFile, "utf8"));
  const others = listed.filter(({ identifier }) => identifier.id !== id);
  const location = { scheme: "file", path: decodeURIComponent(pathToFileURL(folder).pathname) };
  await writeFile(listFile, JSON.stringify([...others, { identifier: { id }, version, location }]));
}

/** 32 random bytes that stay the same as long as their file does. In the file: hexadecimal, for its owner only. */
export async function keptSecret(file: string): Promise<Buffer> {
  await writeOnce(file, randomBytes(32).toString("hex"));
  return Buffer.from(await readFile(file, "utf8"), "hex");
}

/**
 * The server's environment: this process's, without what another VS Code left in it (a terminal of VS Code does) and
 * what npm set for its script, then `changes`. `VSCODE_CLI` says that it is a terminal's, so that VS Code doesn't ask a
 * login shell for it first, which takes a second or more.
 */
export function serverEnvironment(changes: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const own = Object.entries(withoutScriptVariables(process.env)).filter(
    ([name]) => !name.startsWith("VSCODE_") && name !== "ELECTRON_RUN_AS_NODE" && name !== "NODE_OPTIONS",
  );
  return { ...Object.fromEntries(own), VSCODE_CLI: "1", ...changes };
}

/** Writes a file for its owner only, unless it is there already. */
async function writeOnce(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  try {
    await writeFile(file, text, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}
