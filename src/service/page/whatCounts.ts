import { freeTier } from "../../contract/limits.ts";

/** What uses one of the day's runs and what doesn't, for people (contract: "Limits"). Words between backticks are code. */
export const whatCounts = {
  title: "What counts as a run?",
  rule: `A run uses one of the org's runs of the day in the moment it starts. The free tier has ${freeTier.runsPerDay}, and whoever owns the service can set another number: \`pipeline org\` shows your org's.`,
  counts: [
    "A run that has started, however it ends: succeeded, failed, cancelled, timed out or lost.",
    "Each run of its own: Run Again, a run from a failed step, a start that waited and then got a slot.",
    "Runs of everyone in the org together: of all its projects, keys and agents, on whichever machine they run.",
  ],
  doesNotCount: [
    "A start that a limit has refused, because another run holds the slot or the day's runs are used.",
    "A start that left the queue, or whose 120 s were over, before it got a slot.",
    "The same start sent again because its reply was lost: it gets the run that it had started.",
    "Looking at runs and logs, cancelling, checking a pipeline file.",
  ],
  day: "A run counts for the day in which it started. Days are UTC: the count starts again at 00:00 UTC, on the service's clock. Runs that aren't used are not kept for the next day.",
} as const;
