import { mkdir } from "node:fs/promises";
import { join } from "node:path";

/** The arguments that keep everything the server writes inside `dataFolder`, away from the user's own VS Code. */
export async function folderArguments(dataFolder: string, builtinExtensions: boolean): Promise<string[]> {
  const none = join(dataFolder, "no-extensions");
  await mkdir(none, { recursive: true, mode: 0o700 });
  return [
    ...["--server-data-dir", dataFolder, "--extensions-dir", join(dataFolder, "extensions")],
    ...(builtinExtensions ? [] : ["--builtin-extensions-dir", none]),
  ];
}

/** Where the server reads the user's settings. */
export function settingsFile(dataFolder: string): string {
  return join(dataFolder, "data/User/settings.json");
}
