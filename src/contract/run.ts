import * as z from "zod/mini";
import { instant } from "./instant.ts";
import { timeLimit } from "./limits.ts";
import { runStatuses } from "./runStatuses.ts";
import { told } from "./told.ts";

export type RunStatus = (typeof runStatuses)[number];

const stepSchema = z.object({
  name: z.string(),
  type: z.string(),
  status: z.string(),
  startedAt: z.optional(instant),
  stoppedAt: z.optional(instant),
  message: z.optional(z.string()),
});

/** Something that a step kept; its bytes are at `GET /api/runs/{id}/artifacts/{file}`. */
const artifactSchema = z.object({
  /** As people are shown it. */
  name: z.string(),
  file: z.string(),
  stepIndex: z.int().check(z.nonnegative()),
  mediaType: z.string(),
  bytes: z.int().check(z.nonnegative()),
  at: instant,
});

/** A run as this project's service sends it. */
export const servedRunSchema = z.object({
  runId: z.string(),
  pipeline: z.string(),
  project: z.string(),
  status: z.string(),
  actor: z.string(),
  runner: z.string(),
  createdAt: instant,
  stoppedAt: z.optional(instant),
  timeLimitSeconds: z.int().check(z.positive()),
  reason: z.optional(z.string()),
  steps: z.optional(z.array(stepSchema)),
  artifacts: z.optional(z.array(artifactSchema)),
});

const { shape } = servedRunSchema;

/**
 * The same as a client reads it from any service: nothing is needed but what no act can do without (contract: "What a client
 * may ask of a reply"). A run without an `actor` is nobody's.
 */
export const runSchema = z.object({
  runId: shape.runId,
  status: shape.status,
  actor: told(shape.actor),
  pipeline: told(shape.pipeline),
  project: told(shape.project),
  runner: told(shape.runner),
  createdAt: told(shape.createdAt),
  stoppedAt: told(shape.stoppedAt),
  timeLimitSeconds: told(shape.timeLimitSeconds),
  reason: told(shape.reason),
  steps: told(shape.steps),
  artifacts: told(shape.artifacts),
} satisfies Record<keyof typeof shape, unknown>);

const cursor = z.optional(z.string());

/** `GET /api/runs` as this project's service answers it, and as a client reads it. */
export const servedRunListSchema = z.object({ runs: z.array(servedRunSchema), next: cursor });
export const runListSchema = z.object({ runs: z.array(runSchema), next: told(cursor) });

/** The reply of `POST /api/runs/{id}/cancel`: all that the service's description gives of a run. */
export const cancelReplySchema = z.object({ runId: z.string(), status: z.string() });

/** What `GET /api/runs` is asked for. `after` is the `next` of the page before, `actor` a key's id or `me`. */
export const runQuerySchema = z.object({
  status: z.optional(
    z.enum(["in-work", ...runStatuses], `it should be in-work or one of: ${runStatuses.join(", ")}`),
  ),
  actor: z.optional(z.string()),
  project: z.optional(z.string()),
  pipeline: z.optional(z.string()),
  limit: z.optional(z.int().check(z.minimum(1), z.maximum(100))),
  after: z.optional(z.string()),
});

/** The header `Idempotency-Key` of a start: a name for the wish, of the caller's own making. */
export const idempotencyKeySchema = z.string().check(z.minLength(1), z.maxLength(255));

/** The body of `POST /api/runs`. */
export const startRequestSchema = z.strictObject({
  pipeline: z.string().check(z.minLength(1), z.maxLength(200)),
  project: z.optional(z.string().check(z.minLength(1), z.maxLength(200))),
  timeLimitSeconds: z.optional(z.int().check(z.positive(), z.maximum(timeLimit.atMost))),
});

export type Step = z.infer<typeof stepSchema>;
export type Artifact = z.infer<typeof artifactSchema>;
export type ServedRun = z.infer<typeof servedRunSchema>;
export type Run = z.infer<typeof runSchema>;
export type ServedRunList = z.infer<typeof servedRunListSchema>;
export type RunList = z.infer<typeof runListSchema>;
export type CancelReply = z.infer<typeof cancelReplySchema>;
export type StartRequest = z.infer<typeof startRequestSchema>;

/** What people call a run: by its pipeline; by its id where a service doesn't tell that. */
export function nameOf(run: Pick<Run, "runId" | "pipeline">): string {
  return run.pipeline ?? run.runId;
}

export { isActive } from "./isActive.ts";
