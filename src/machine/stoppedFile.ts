import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PipelineError } from "../contract/errors.ts";

/**
 * The file that keeps faces from starting the embedded service by themselves: written when a person stops the service, removed
 * by whoever asks for it again. It has no content.
 */
function stoppedFile(folder: string): string {
  return join(folder, "service.stopped");
}

/** Whether a person has stopped the service of this folder, and nobody has started it since. */
export function isStopped(folder: string): boolean {
  return existsSync(stoppedFile(folder));
}

/** @throws the file system's error. */
export async function setStopped(folder: string, stopped: boolean): Promise<void> {
  if (stopped) await writeFile(stoppedFile(folder), "", { mode: 0o600 });
  else await rm(stoppedFile(folder), { force: true });
}

/** Why the embedded service isn't started: a person has stopped it. No retry helps. */
export class ServiceStopped extends PipelineError {
  constructor() {
    super("out-of-reach", "This machine's own service was stopped.", {
      next: "`pipeline run` and `pipeline service restart` start it again.",
    });
  }
}
