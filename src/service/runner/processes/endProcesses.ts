import { setTimeout as pause } from "node:timers/promises";

/** What is to be ended, and how long it may take to end by itself. */
interface Ending {
  /** The ids of what still lives. Asked again and again, because what is being ended may start more. */
  readonly find: () => Promise<readonly number[]>;
  /** From the polite signal to the last one. 0 sends the last one at once. */
  readonly graceMilliseconds: number;
}

/**
 * Ends processes: SIGTERM to each, a grace time, then SIGKILL until none is left. Resolves when they are really gone,
 * which is when a run gives up its place (contract: "Limits"). A process of another user, which this one may not
 * signal, is left alone.
 */
export async function endProcesses(ending: Ending): Promise<void> {
  const deadline = performance.now() + ending.graceMilliseconds;
  const asked = new Set<number>();
  const untouchable = new Set<number>();
  for (let wait = 5; ; wait = Math.min(wait * 1.5, 200)) {
    const living = (await ending.find()).filter((pid) => !untouchable.has(pid));
    if (living.length === 0) return;
    const patienceIsOver = performance.now() >= deadline;
    for (const pid of living) {
      if (!patienceIsOver && asked.has(pid)) continue;
      asked.add(pid);
      if (!signal(pid, patienceIsOver ? "SIGKILL" : "SIGTERM")) untouchable.add(pid);
    }
    await pause(wait);
  }
}

/** @returns whether the process may be signalled; one that has ended meanwhile counts as such. */
function signal(pid: number, name: "SIGTERM" | "SIGKILL"): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "EPERM");
  }
}
