import { closeSync, readdirSync, readFileSync } from "node:fs";

const closedOnExec = 0o2000000;

/**
 * Closes the files that whoever started this process has left open beyond the three standard streams: a lock that is held by one
 * of them would last as long as this process, and its programs would have them too. Node.js opens its own so that no program
 * gets them, which tells the others. Only Linux says which are which.
 */
export function closeInheritedFiles(): void {
  if (process.platform !== "linux") return;
  for (const name of readdirSync("/proc/self/fdinfo")) {
    try {
      const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, "latin1"))?.[1];
      const isOwn = flags === undefined || (Number.parseInt(flags, 8) & closedOnExec) !== 0;
      if (Number(name) > 2 && !isOwn) closeSync(Number(name));
    } catch {
      // Ignored: the list's own file is closed by now.
    }
  }
}
