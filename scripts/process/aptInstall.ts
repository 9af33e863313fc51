import { access, constants } from "node:fs/promises";
import { Problem } from "../problem.ts";
import { runProgram } from "./program.ts";

/** Whether programs can be installed here with nobody asked: a container made for builds, as root on a Debian. */
export async function canInstall(): Promise<boolean> {
  return process.getuid?.() === 0 && (await isExecutable("/usr/bin/apt-get"));
}

/** Installs Debian packages. @throws Problem when that fails. @param next what a person can do about it. */
export async function aptInstall(names: readonly string[], next: string, signal: AbortSignal): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  // Another install may be under way.
  const patience = ["-o", "DPkg::Lock::Timeout=120"];
  for (const step of [["update"], ["install", "--yes", "--no-install-recommends", ...names]]) {
    const args = ["--quiet", ...patience, ...step];
    const { exitCode, output } = await runProgram("apt-get", args, { env }, signal);
    if (exitCode === 0) continue;
    throw new Problem(`apt-get ${step[0]} failed: ${output.trim().split("\n").at(-1) ?? "no output"}`, next);
  }
}

export function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
