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
