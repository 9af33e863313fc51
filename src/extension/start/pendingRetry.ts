import * as z from "zod/mini";

/** A start that is to be made at the next 00:00 UTC. */
const pendingRetrySchema = z.object({
  id: z.string(),
  pipeline: z.string(),
  project: z.optional(z.string()),
  timeLimitSeconds: z.optional(z.number()),
  /** The reset, on the service's clock, in milliseconds since 1970. */
  resetAt: z.number(),
  /** When it is to be made, on this machine's clock, which may be off, in milliseconds since 1970. */
  dueAt: z.number(),
  /** Where it was refused: it is made nowhere else. */
  origin: z.string(),
  orgId: z.string(),
});

/** What is put off. */
export interface PutOff {
  readonly pipeline: string;
  readonly project?: string | undefined;
  readonly timeLimitSeconds?: number | undefined;
}

export type PendingRetry = z.infer<typeof pendingRetrySchema>;

/** @returns undefined for what is none, such as what another version wrote in another way. */
export function readPending(kept: unknown): PendingRetry | undefined {
  const read = z.safeParse(pendingRetrySchema, kept);
  return read.success ? read.data : undefined;
}
