import { spawn } from "node:child_process";

/**
 * Keeps crashes of this process, and of what it starts from then on, from leaving a core file, which would hold environments. With a
 * limit of 1 byte Linux writes none and hands none to a program that collects them; with 0 it still would do that. A program can
 * raise it again for itself. Only Linux has `prlimit`; it isn't waited for.
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
