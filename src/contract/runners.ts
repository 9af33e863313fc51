import * as z from "zod/mini";
import { instant } from "./fields.ts";
import { inputValuesSchema } from "./pipelines.ts";
import { mostParts, ranPipelineSchema, runWorkSchema, stepSchema } from "./run.ts";

// The messages between a runner on another machine and its service (contract: "Many machines"). All need a key of the role
// `runner`. A run that has begun is never retried, so the runner's id in its row identifies the attempt: any other gets a 409.

const text = (longest: number) => z.string().check(z.minLength(1), z.maxLength(longest));
const runIds = z.array(text(100)).check(z.maxLength(1000));
export const runnerIdSchema = z.string().check(z.regex(/^rnr_[A-Za-z0-9_-]{8,64}$/));
const index = z.int().check(z.nonnegative(), z.maximum(10_000));

/** A run's lease in seconds, counted from each accepted heartbeat. */
export const leaseSeconds = 20;
/** How long a service holds a request for work and a heartbeat at most, in seconds (`Prefer: wait=<s>`). */
export const longestHold = { work: 30, heartbeat: 2 } as const;

/** `POST /api/runners`. Nothing is stored: a runner's runs are those whose rows have its id. */
export const runnerRequestSchema = z.strictObject({
  label: z.string().check(z.minLength(1), z.maxLength(100), z.regex(/^\P{Cc}*$/u)),
});
export const runnerReplySchema = z.object({ runnerId: runnerIdSchema });

/**
 * `POST /api/runners/{id}/work`. `runs` are those that the runner works on. If it holds a run that isn't among them, the reply
 * that granted it was lost, and that run is sent again first.
 */
export const workRequestSchema = z.strictObject({ runs: runIds });
/** The 200 reply; a 204 means that there is no work yet. */
export const workReplySchema = z.object({
  /** The runner names folders after it. */
  runId: z.string().check(z.regex(/^[A-Za-z0-9_-]{1,100}$/)),
  work: runWorkSchema,
  timeLimitSeconds: z.int().check(z.positive()),
  /** Context for the run's expressions, as are `startedAt` and `agent`. */
  project: z.optional(z.string()),
  startedAt: z.optional(instant),
  agent: z.optional(z.string()),
  leaseSeconds: z.int().check(z.positive()),
});

const timedOutSchema = z.object({
  kind: z.literal("timed-out"),
  seconds: z.int().check(z.positive()),
  /** The part of the limit that the steps had, if they were stopped early to leave time for cleanup. */
  stepsMilliseconds: z.optional(z.number().check(z.positive())),
  /** What set the limit: the pipeline file or the start request. */
  origin: z.enum(["file", "start"]),
  /** The step that was running; absent between two steps. */
  step: z.optional(z.string()),
});
/** Why a run is being stopped. The first reason stays. */
export const stopReasonSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("cancelled"),
    by: z.string(),
    /** When, in milliseconds since 1970. */
    at: z.optional(z.number()),
    /** Set once the run was cancelled a second time: its cleanup steps end too. */
    again: z.optional(z.literal(true)),
  }),
  timedOutSchema,
  /** `why` explains a stop that nobody asked for. */
  z.object({ kind: z.literal("service-stopped"), why: z.optional(z.string()) }),
]);

/** `POST /api/runners/{id}/heartbeat`: renews the leases of `runs` at once; the reply is held until a run is to be stopped. */
export const heartbeatRequestSchema = z.strictObject({ runs: runIds });
export const heartbeatReplySchema = z.object({
  stop: z.array(z.object({ runId: z.string(), reason: stopReasonSchema })),
  /** The runs that no longer belong to this runner. It ends them without reporting anything. */
  gone: z.array(z.string()),
});

/** How a run's processes ended. The first reason wins: a stopped run neither fails nor succeeds. */
const runnerEndSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("succeeded") }),
  z.object({ kind: z.literal("failed"), message: z.string() }),
  z.object({ kind: z.literal("stopped") }),
  /** The run's process crashed, was killed, or couldn't be started; `message` says what is known. */
  z.object({ kind: z.literal("died"), message: z.string() }),
]);

/** The messages of a run's process that its runner passes on. */
export const passedOn = {
  /** The run's inputs once all are known, masked. */
  inputs: z.object({ kind: z.literal("inputs"), inputs: inputValuesSchema }),
  /** The run's outputs, masked, once its steps and its cleanup have succeeded. */
  outputs: z.object({ kind: z.literal("outputs"), outputs: z.record(z.string(), z.unknown()) }),
  /** A piece of a step's log, masked. The joined pieces of a stream are its whole output. */
  output: z.object({
    kind: z.literal("output"),
    index,
    at: instant,
    stream: z.enum(["stdout", "stderr", "note"]),
    text: z.string(),
  }),
  /** An artifact of a step, whose content is already stored as `file`. */
  artifact: z.object({
    kind: z.literal("artifact"),
    index,
    at: instant,
    name: z.string(),
    file: z.string().check(z.regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/)),
    mediaType: z.string(),
    bytes: z.int().check(z.nonnegative()),
  }),
};

/** What a runner reports about its run, in order. */
const runnerMessageSchema = z.discriminatedUnion("kind", [
  /** A step's new state, when it starts or stops. */
  z.object({
    kind: z.literal("step"),
    index,
    ...stepSchema.shape,
    status: z.enum(["running", "succeeded", "failed", "stopped", "lost", "skipped", "not-reached"]),
  }),
  passedOn.inputs,
  passedOn.outputs,
  /** The pipeline file and the files it includes, masked. */
  z.object({
    kind: z.literal("pipeline"),
    ...ranPipelineSchema.shape,
    texts: ranPipelineSchema.shape.texts.check(
      z.refine((texts) => Object.keys(texts).length <= 1 + mostParts, `at most ${1 + mostParts} files`),
    ),
  }),
  passedOn.output,
  passedOn.artifact,
  /** The only one: the runner's machine lacks something, such as disk space, so the run never began. Another may take it. */
  z.object({ kind: z.literal("returned") }),
  /** The last one: no process is left. The service knows who stopped the run, unless the runner did, at the time limit. */
  z.object({ kind: z.literal("ended"), end: runnerEndSchema, stopReason: z.optional(timedOutSchema) }),
]);

/**
 * `POST /api/runs/{id}/messages`. A run's messages are numbered from 1; `first` is the number of the first one sent. The service
 * skips those it already has, so resending is safe. 409 if the run no longer belongs to this runner.
 */
export const messagesRequestSchema = z.strictObject({
  runnerId: runnerIdSchema,
  first: z.int().check(z.positive()),
  messages: z.array(runnerMessageSchema).check(z.minLength(1), z.maxLength(10_000)),
});

export type StopReason = z.infer<typeof stopReasonSchema>;
export type RunnerEnd = z.infer<typeof runnerEndSchema>;
export type RunnerMessage = z.infer<typeof runnerMessageSchema>;
export type Work = z.infer<typeof workReplySchema>;
export type HeartbeatReply = z.infer<typeof heartbeatReplySchema>;
