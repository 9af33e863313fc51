import { readdir } from "node:fs/promises";
import { join } from "node:path";

/** Where the starts lie that are put off until 00:00 UTC, of all workspaces of this user on this machine. */
export function putOffFolder(globalStorage: string): string {
  return join(globalStorage, "put-off");
}

/** Whether any start is put off: a window that is quiet otherwise looks whether it is one of its own. */
export async function isAnyPutOff(globalStorage: string): Promise<boolean> {
  const names = await readdir(putOffFolder(globalStorage)).catch(() => []);
  return names.some((name) => name.endsWith(".json"));
}
