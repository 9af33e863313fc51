import { setTimeout as pause } from "node:timers/promises";
import { type FoundProcess, findProcesses } from "./findProcesses.ts";

/** How long a process that is about to end may take, in milliseconds. */
const patience = 10_000;

/**
 * Ends the processes that were started with a variable of a value, but not those that end by themselves within a moment.
 * @returns those that had to be ended, a line each.
 */
export async function endMarked(variable: string, value: string): Promise<string[]> {
  for (let waited = 0; ; waited += 250) {
    const found = await findProcesses({ [variable]: value });
    if (found.length === 0) return [];
    if (waited >= patience) {
      for (const { pid } of found) kill(pid);
      return found.map(describeProcess);
    }
    await pause(250);
  }
}

/** A line for a person: its number, its words and, where it has one, its data folder. */
function describeProcess({ pid, words, environment }: FoundProcess): string {
  const folder = environment.get("PIPELINE_DATA_DIR");
  return `${pid} ${words.join(" ")}${folder === undefined ? "" : ` of ${folder}`}`;
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}
