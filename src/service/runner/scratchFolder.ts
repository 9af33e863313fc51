import { lstat, mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where a run puts what nobody needs once it has ended, such as a browser's profile. It isn't there until it is needed. */
export function scratchFolder(runId: string): string {
  return join(tmpdir(), `pipeline-runs-${runId}`);
}

/**
 * Makes the folder, if it isn't there. Others can know its name, since a run's id is in the list of processes, and may have
 * made it before, so as to get what is put there.
 *
 * @throws Error that says so when it isn't this user's alone.
 */
export async function makeScratch(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    if (!(await isOwn(folder))) throw new Error(`${folder} isn't this user's alone`);
  }
}

/** To be called when the run's processes are gone. What can't be removed is left to the system, which clears such folders. */
export async function removeScratch(runId: string): Promise<void> {
  const folder = scratchFolder(runId);
  try {
    // In another user's folder, that user could lead the removal elsewhere.
    if (await isOwn(folder)) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // It isn't there, or a program still writes into it; no run may fail for it.
  }
}

async function isOwn(folder: string): Promise<boolean> {
  const facts = await lstat(folder);
  const own = process.getuid?.();
  // Where users have no number, as on Windows, the folder for temporary files is in the user's own profile.
  return facts.isDirectory() && (own === undefined || (facts.uid === own && (facts.mode & 0o077) === 0));
}
