import { readFileSync } from "node:fs";

/** Whether a process runs. One that ended but that nobody has reaped yet doesn't. */
export function isAlive(pid: number): boolean {
  if (process.platform === "linux") {
    try {
      return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
    } catch {
      return false;
    }
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
