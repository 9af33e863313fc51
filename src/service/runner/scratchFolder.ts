import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where a run puts what nobody needs once it has ended, such as a browser's profile. It isn't there until it is needed. */
export function scratchFolder(runId: string): string {
  return join(tmpdir(), `pipeline-runs-${runId}`);
}

/** To be called when the run's processes are gone. What can't be removed is left to the system, which clears such folders. */
export async function removeScratch(runId: string): Promise<void> {
  try {
    await rm(scratchFolder(runId), { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // Another user's, perhaps; no run may fail for it.
  }
}
