import { readdir } from "node:fs/promises";
import { join } from "node:path";

// What a window looks for when it opens, before it loads anything else.

/** The key in the workspace state of the service and key that were chosen for the workspace. */
export const chosenServiceKey = "chosenService";

/** The folder of the starts deferred to 00:00 UTC, of all workspaces of this user on this machine. */
export function deferredStartsFolder(globalStorage: string): string {
  return join(globalStorage, "put-off");
}

/** Whether any start is deferred; whether it belongs to this workspace is found out once the window is composed. */
export async function hasDeferredStarts(globalStorage: string): Promise<boolean> {
  const names = await readdir(deferredStartsFolder(globalStorage)).catch(() => []);
  return names.some((name) => name.endsWith(".json"));
}
