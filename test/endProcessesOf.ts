import { findProcesses } from "../scripts/process/findProcesses.ts";
import { readConnection } from "../src/machine/connectionFile.ts";
import { runMarker } from "../src/runner/processes/processTable.ts";
import { isAlive } from "./isAlive.ts";
import { until } from "./until.ts";

/**
 * Ends whatever works in a data folder, and waits until it is gone. Also a service that is still starting, which no
 * connection file names yet: who started it may have been killed at any moment. Where other processes' environments can't be
 * read, as anywhere but on Linux, it ends the service that the connection file names, and no more.
 */
export async function endProcessesOf(dataFolder: string): Promise<void> {
  const connection = await readConnection(dataFolder);
  const working = () => findProcesses({ PIPELINE_DATA_DIR: dataFolder });
  // First who could still start a service.
  for (const { pid, words, environment } of await working()) {
    const isOfRun = environment.has(runMarker) || words.some((word) => /\brunner\.[jt]s$/.test(word));
    if (!isService(words) && !isOfRun) await endProcess(pid, "SIGKILL");
  }
  // A service ends its runs itself.
  for (const { pid, words } of await working()) if (isService(words)) await endProcess(pid);
  for (const { pid } of await working()) await endProcess(pid, "SIGKILL");
  if (connection !== undefined) await endProcess(connection.pid);
}

/** Asks a process to end, and waits until it is gone. */
export async function endProcess(pid: number, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
  if (!isAlive(pid)) return;
  try {
    process.kill(pid, signal);
  } catch {
    return; // it has ended meanwhile
  }
  await until(async () => !isAlive(pid));
}

function isService(words: readonly string[]): boolean {
  return words.includes("--idle-exit") || words.includes("serve");
}
