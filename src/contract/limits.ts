import type { Org } from "./org.ts";

export const dayMilliseconds = 86_400_000;

/** The day of an instant (milliseconds since 1970) as `YYYY-MM-DD`. The service's days are UTC (contract: "Limits"). */
export function utcDay(instant: number): string {
  return new Date(instant).toISOString().slice(0, 10);
}

/** The instant (milliseconds since 1970) of the next 00:00 UTC, always later than `instant`. */
export function nextReset(instant: number): number {
  return (Math.floor(instant / dayMilliseconds) + 1) * dayMilliseconds;
}

/** Whole seconds from an instant to the next 00:00 UTC, rounded up: 1 to 86400. */
export function secondsToReset(instant: number): number {
  return Math.ceil((nextReset(instant) - instant) / 1000);
}

/** How many seconds a client waits for a slot (contract: "The wait"). */
export const waitSeconds = 120;

/** A run's time limit in seconds (contract: "Limits"). */
export const timeLimit = { byDefault: 30, atMost: 3600 } as const;

/** How many days this project's service keeps logs and artifacts. */
export const retentionDays = { byDefault: 14, atMost: 3650 } as const;

/** The most bytes of an artifact. A runner keeps no larger one, and a service accepts none. */
export const largestArtifact = 8 * 1024 * 1024;

/** The longest pipeline or included file, in UTF-16 units. Long files are mostly texts: scripts, bodies, data. */
export const largestFile = 1024 * 1024;

/** The most bytes of a run's pipeline files as JSON; larger ones aren't kept. */
export const largestRanPipeline = 1024 * 1024;

/** The most characters of a branch's name that is kept with a run. */
export const longestBranch = 300;

/** The most runs that a runner works on at the same time. Its request for work names them and others, 1,000 at most. */
export const mostSlots = 100;

/** The limits of a new org. Clients read limits from the org reply, never from here. */
export const freeTier = { tier: "free", parallelRuns: 1, runsPerDay: 50 } as const;

/** The most that a service's owner can allow an org. */
export const mostOfOrg = { parallelRuns: 1_000, runsPerDay: 1_000_000 } as const;

/** The share of the day's runs at which a warning appears. */
const warningShare = 0.8;

/** The status bar's text: `<used> of <runs-per-day> runs used today`. */
export function quotaText(org: Org): string {
  return `${org.usage.runsToday} of ${org.limits.runsPerDay} runs used today`;
}

/** How much of the day's quota is left: `low` once 80 % is used, `used-up` when none is left. */
export function quotaLevel(org: Org): "plenty" | "low" | "used-up" {
  const { runsToday } = org.usage;
  const { runsPerDay } = org.limits;
  if (runsToday >= runsPerDay) return "used-up";
  return runsToday >= runsPerDay * warningShare ? "low" : "plenty";
}
