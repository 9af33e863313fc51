import type { Memento } from "vscode";
import * as z from "zod/mini";
import { retriesName } from "./retriesName.ts";

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

/** What the workspace has kept. What another version wrote in another way is left out. */
export function readPending(memento: Pick<Memento, "get">): PendingRetry[] {
  const kept = memento.get<unknown>(retriesName);
  if (!Array.isArray(kept)) return [];
  return kept.flatMap((entry: unknown) => {
    const read = z.safeParse(pendingRetrySchema, entry);
    return read.success ? [read.data] : [];
  });
}
