import type { ChildProcess, spawn } from "node:child_process";
import { windowsProgram } from "../windowsProgram.ts";

interface TreeDeps {
  readonly spawn: typeof spawn;
  readonly platform: NodeJS.Platform;
}

/** Interrupts a program that leads a process group, and all of that group, as Ctrl-C in a terminal would. */
export function interruptTree(child: ChildProcess, deps: TreeDeps): void {
  // Windows can't interrupt a program without a console: there it is ended at once.
  if (deps.platform === "win32") endTree(child, deps);
  else signalGroup(child, "SIGINT");
}

/** Kills the program, where it is still there, and what is left of its process group. */
export function endTree(child: ChildProcess, { spawn: start, platform }: TreeDeps): void {
  if (platform !== "win32") {
    signalGroup(child, "SIGKILL");
    return;
  }
  if (child.pid === undefined || child.exitCode !== null) return;
  const taskkill = windowsProgram("taskkill.exe", process.env);
  const words = ["/pid", String(child.pid), "/t", "/f"];
  start(taskkill, words, { windowsHide: true, stdio: "ignore" }).once("error", () => child.kill());
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  // Without an id nothing was started; and `-0` would be this process's own group.
  if (pid === undefined || pid <= 1) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // All of them are gone.
  }
}
