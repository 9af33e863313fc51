import { readdirSync, readFileSync } from "node:fs";

/**
 * Whether a process group still has a process that runs. A signal alone can't tell: it also reaches the dead whom
 * nobody has asked after yet, and in a container they may wait for seconds.
 */
export function groupLives(group: number): boolean {
  if (!canBeSignalled(group)) return false;
  if (process.platform !== "linux") return true;
  return readdirSync("/proc").some((name) => /^\d+$/.test(name) && runsIn(group, name));
}

function canBeSignalled(group: number): boolean {
  try {
    return process.kill(-group, 0);
  } catch {
    return false;
  }
}

function runsIn(group: number, pid: string): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name of the program comes first, in brackets, and may hold anything.
    const [state, , processGroup] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(processGroup) === group && state !== "Z" && state !== "X";
  } catch {
    return false; // it ended meanwhile
  }
}
