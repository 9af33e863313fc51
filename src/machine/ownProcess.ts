import { spawn } from "node:child_process";
import { closeSync, readdirSync, readFileSync } from "node:fs";

/**
 * Keeps Node.js from showing others what this process knows. Its crash report would hold the environment, and with it secrets;
 * and SIGUSR1, usually meant for another program of Node.js, would open its debugger to every user of the machine.
 */
export function hideOwnMemory(): void {
  if (process.report) process.report.excludeEnv = true;
  process.on("SIGUSR1", () => {});
}

const closedOnExec = 0o2000000;

/**
 * Closes the files that this process has inherited beyond the three standard streams: a lock that is held by one of them would
 * last as long as this process, and its programs would inherit them too. Node.js opens its own files so that no program
 * inherits them, which tells them from the others. Only Linux shows that.
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

/**
 * Keeps crashes of this process, and of what it starts from then on, from leaving a core file, which would hold environments.
 * With a limit of 1 byte Linux neither writes one nor passes one to a collecting program; with 0 it would still pass one. A
 * program can raise its own limit again. Only Linux has `prlimit`; it isn't waited for.
 */
export function leaveNoCoreFiles(): void {
  if (process.platform !== "linux") return;
  try {
    const program = spawn("prlimit", ["--pid", String(process.pid), "--core=1:"], { stdio: "ignore" });
    // Ignored: the program isn't there.
    program.once("error", () => {}).unref();
  } catch {
    // Ignored: the PATH names a file.
  }
}
