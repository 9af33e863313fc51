import type { Unit } from "../benchmark.ts";

/** What is counted. No other load on the machine changes any of it but the processor times, and those by little. */
export const measures = [
  "statements",
  "rows",
  "walBytes",
  "notifications",
  "notifyCommits",
  "serverMilliseconds",
  "databaseMilliseconds",
] as const;

/** What something has used, or uses once, or in a second. */
export type Used = Readonly<Record<(typeof measures)[number], number>>;

export const nothing: Used = makeUsed(() => 0);

export function makeUsed(of: (measure: (typeof measures)[number]) => number): Used {
  return {
    statements: of("statements"),
    rows: of("rows"),
    walBytes: of("walBytes"),
    notifications: of("notifications"),
    notifyCommits: of("notifyCommits"),
    serverMilliseconds: of("serverMilliseconds"),
    databaseMilliseconds: of("databaseMilliseconds"),
  };
}

/** Several together, each so many times. */
export function sum(...parts: readonly (readonly [times: number, used: Used])[]): Used {
  return makeUsed((measure) => parts.reduce((all, [times, used]) => all + times * used[measure], 0));
}

/** As they are told. */
export const words: Readonly<Record<(typeof measures)[number], readonly [name: string, unit: Unit]>> = {
  statements: ["statements", "count"],
  rows: ["rows written", "count"],
  walBytes: ["WAL", "bytes"],
  notifications: ["NOTIFYs", "count"],
  notifyCommits: ["commits with one", "count"],
  serverMilliseconds: ["server", "ms"],
  databaseMilliseconds: ["PostgreSQL", "ms"],
};
