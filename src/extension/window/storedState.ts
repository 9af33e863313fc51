import { readdir } from "node:fs/promises";
import { join } from "node:path";

// What a window looks for as it opens, before it loads anything else.

/** The workspace state's name for the service and the key that were chosen for the workspace. */
export const chosenServiceKey = "chosenService";

/** The folder of the starts that are deferred to 00:00 UTC, of all workspaces of this user on this machine. */
export function deferredStartsFolder(globalStorage: string): string {
  return join(globalStorage, "put-off");
}

/** Whether any start is deferred; whether it is one of this workspace is found out once the window is composed. */
export async function hasDeferredStarts(globalStorage: string): Promise<boolean> {
  const names = await readdir(deferredStartsFolder(globalStorage)).catch(() => []);
  return names.some((name) => name.endsWith(".json"));
}
