import * as z from "zod/mini";

const count = z.int().check(z.nonnegative());

/** The reply of `GET /api/org` (contract: "Endpoints"). `actor` is the id of the key that asked. */
export const orgSchema = z.object({
  orgId: z.string(),
  orgName: z.string(),
  tier: z.string(),
  limits: z.object({ parallelRuns: count, runsPerDay: count }),
  usage: z.object({ runsToday: count }),
  actor: z.string(),
});

export type Org = z.infer<typeof orgSchema>;

/**
 * The reply of `GET /api/queue`: how many start requests wait for a slot of the org, and the position of the caller's request, 1
 * being next. `place` is absent for a request that isn't in the queue.
 */
export const queueSchema = z.object({
  waiting: z.int().check(z.nonnegative()),
  place: z.optional(z.int().check(z.positive())),
});

export type Queue = z.infer<typeof queueSchema>;
