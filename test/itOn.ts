import { rmdirSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { processTable } from "../src/runner/processes/systemProcesses.ts";

/**
 * Defines a test where its system has what it checks. Elsewhere the test is not there: it must not count as passed where
 * nothing was looked at. `cgroup` is a Linux that lets this user make one, `ipv6` a machine that has `::1`.
 */
export function itOn(
  system: "linux" | "posix" | "cgroup" | "ipv6",
  title: string,
  body: (this: Mocha.Context) => Promise<void>,
): void {
  if (isThere(system)) it(title, body);
}

function isThere(system: "linux" | "posix" | "cgroup" | "ipv6"): boolean {
  switch (system) {
    case "linux":
      return process.platform === "linux";
    case "posix":
      return process.platform !== "win32";
    case "cgroup":
      return allowsCgroups();
    case "ipv6":
      return Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === "::1"));
    default:
      return system satisfies never;
  }
}

function allowsCgroups(): boolean {
  const { cgroups } = processTable(process.platform);
  const folder = cgroups?.make({ pid: process.pid, birth: "probe" });
  if (cgroups === undefined || folder === undefined) return false;
  rmdirSync(folder);
  return true;
}
