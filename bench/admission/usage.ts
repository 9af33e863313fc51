import type { Usage } from "./messages.ts";

/** Answers each message of the benchmark with what this process has taken up. */
export function tellUsage(): void {
  process.on("message", () => {
    // First: what it takes to look at the memory is no cost of the requests that come between two looks.
    globalThis.gc?.();
    const { user, system } = process.cpuUsage();
    const usage: Usage = {
      processorMilliseconds: (user + system) / 1000,
      memoryBytes: process.memoryUsage.rss(),
      mostMemoryBytes: process.resourceUsage().maxRSS * 1024,
    };
    process.send?.(usage);
  });
}
