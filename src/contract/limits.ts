import type { Org } from "./org.ts";

/** How long a client asks for a place before it gives up, in seconds (contract: "The wait"). */
export const waitSeconds = 120;

/** A run's time limit in seconds when nobody names one, and the longest that may be named (contract: "Limits"). */
export const timeLimit = { byDefault: 30, atMost: 3600 } as const;

/** For how many days this project's service keeps logs and artifacts when nobody says, and the most that may be said. */
export const retentionDays = { byDefault: 14, atMost: 3650 } as const;

/** What a new org of the free tier may do. Clients read the limits from the org reply, never from here. */
export const freeTier = { tier: "free", parallelRuns: 1, runsPerDay: 50 } as const;

/** The share of the day's runs from which a person is warned. */
const warningShare = 0.8;

/** The status bar's words: `<used> of <runs-per-day> runs used today`. */
export function quotaText(org: Org): string {
  return `${org.usage.runsToday} of ${org.limits.runsPerDay} runs used today`;
}

/** How near the org is to its day's limit: `low` from 80 % used, `used-up` when no run is left. */
export function quotaLevel(org: Org): "plenty" | "low" | "used-up" {
  const { runsToday } = org.usage;
  const { runsPerDay } = org.limits;
  if (runsToday >= runsPerDay) return "used-up";
  return runsToday >= runsPerDay * warningShare ? "low" : "plenty";
}
