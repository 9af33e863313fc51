import { mkdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";

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
  await mkdir(some, { recursive: true, mode: 0o700 });
  const all = join(dirname(serverMain), "../extensions");
  for (const name of builtin || []) await symlink(join(all, name), join(some, name));
  return [...own, "--builtin-extensions-dir", some];
}

/** Where the server reads the user's settings. */
export function settingsFile(dataFolder: string): string {
  return join(dataFolder, "data/User/settings.json");
}
