import * as z from "zod/mini";

/**
 * The reply of `GET /api/queue`: how many start requests wait for a slot of the org, and the caller's place among them,
 * from 1 for whoever is next. No place for a request that isn't in the queue.
 */
export const queueSchema = z.object({
  waiting: z.int().check(z.nonnegative()),
  place: z.optional(z.int().check(z.positive())),
});

export type Queue = z.infer<typeof queueSchema>;
