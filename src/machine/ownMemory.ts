/**
 * Keeps Node.js from showing others what this process knows: its report of a crash would hold the environment, and with it secrets,
 * and SIGUSR1, which is meant for another program of Node.js as a rule, would open its debugger to every user of the machine.
 */
export function hideOwnMemory(): void {
  if (process.report) process.report.excludeEnv = true;
  process.on("SIGUSR1", () => {});
}
