import { lstat, mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codeOf } from "../../project/systemErrors.ts";

/** The folder of a run's temporary files, such as a browser's profile. Created when it is first needed. */
export function scratchFolder(runId: string): string {
  return join(tmpdir(), `pipeline-runs-${runId}`);
}

/**
 * Creates the folder. Its name can be guessed, since process lists show a run's id, so another user may have created it
 * first to read what is put there.
 *
 * @throws Error when the folder isn't this user's alone.
 */
export async function makeScratch(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    if (!(await isOwn(folder))) throw new Error(`${folder} isn't this user's alone`);
  }
}

/** Removes the folder once the run's processes are gone. What can't be removed is left to the system's own cleaning. */
export async function removeScratch(runId: string): Promise<void> {
  const folder = scratchFolder(runId);
  try {
    // In another user's folder, a symbolic link could redirect the removal.
    if (await isOwn(folder)) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // Ignored: it doesn't exist, or a program still writes into it. Neither may fail a run.
  }
}

async function isOwn(folder: string): Promise<boolean> {
  const facts = await lstat(folder);
  const own = process.getuid?.();
  // On Windows, which has no user ids, the temporary folder is in the user's profile.
  return facts.isDirectory() && (own === undefined || (facts.uid === own && (facts.mode & 0o077) === 0));
}
