import { chmod, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../../log.ts";

/**
 * Removes a folder that steps have written into. Never rejects: what can't be removed is logged, and left to the system's own
 * cleaning.
 */
export async function removeFolder(path: string, log: Log): Promise<void> {
  const remove = () => rm(path, { recursive: true, force: true, maxRetries: 3 });
  try {
    await remove().catch(async () => {
      await makeWritable(path);
      await remove();
    });
  } catch (error) {
    log("warn", "a folder can't be removed", { path, error });
  }
}

/** Nothing can be removed from a read-only folder, except by root. */
async function makeWritable(folder: string): Promise<void> {
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await makeWritable(join(folder, entry.name));
  }
}
