import * as z from "zod/mini";
import { ranPipelineSchema } from "./changes.ts";
import { instant } from "./fields.ts";
import { inputValuesSchema } from "./inputs.ts";
import { mostParts, runWorkSchema, stepSchema } from "./run.ts";

// What a runner on another machine and its service say to each other (contract: "Many machines"). All of it needs a key of the
// role `runner`. A run is never retried, so a runner's id in a run's row is the attempt: what any other runner says of it is 409.

const text = (longest: number) => z.string().check(z.minLength(1), z.maxLength(longest));
const runIds = z.array(text(100)).check(z.maxLength(1000));
export const runnerIdSchema = z.string().check(z.regex(/^rnr_[A-Za-z0-9_-]{8,64}$/));
const index = z.int().check(z.nonnegative(), z.maximum(10_000));

/** How long a run's lease is, in seconds, from each accepted heartbeat. */
export const leaseSeconds = 20;
/** The most that a service holds a request for work, and a heartbeat, in seconds (`Prefer: wait=<s>`). */
export const longestHold = { work: 30, heartbeat: 2 } as const;

/** `POST /api/runners`. Nothing is stored: a runner's runs are those whose rows have its id. */
export const runnerRequestSchema = z.strictObject({
  label: z.string().check(z.minLength(1), z.maxLength(100), z.regex(/^\P{Cc}*$/u)),
});
export const runnerReplySchema = z.object({ runnerId: runnerIdSchema });

/**
 * `POST /api/runners/{id}/work`. `runs` are those that the runner works on: one that it holds and doesn't name is answered first,
 * since the reply that gave it was lost.
 */
export const workRequestSchema = z.strictObject({ runs: runIds });
/** 200 of it; 204 is "nothing yet". */
export const workReplySchema = z.object({
  /** It names folders of the runner's machine. */
  runId: z.string().check(z.regex(/^[A-Za-z0-9_-]{1,100}$/)),
  work: runWorkSchema,
  timeLimitSeconds: z.int().check(z.positive()),
  /** What the run's expressions know of it. */
  project: z.optional(z.string()),
  startedAt: z.optional(instant),
  agent: z.optional(z.string()),
  leaseSeconds: z.int().check(z.positive()),
});

const timedOutSchema = z.object({
  kind: z.literal("timed-out"),
  seconds: z.int().check(z.positive()),
  /** What its steps had of it, where they had to end for what cleans up. */
  stepsMilliseconds: z.optional(z.number().check(z.positive())),
  /** What set the limit: the pipeline file or the start request. */
  origin: z.enum(["file", "start"]),
  /** The running step; undefined between two steps. */
  step: z.optional(z.string()),
});
/** Why a run is being stopped. The first reason stays. */
export const stopReasonSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("cancelled"),
    by: z.string(),
    /** When, in milliseconds since 1970. */
    at: z.optional(z.number()),
    /** It was cancelled once more: what cleans up ends too. */
    again: z.optional(z.literal(true)),
  }),
  timedOutSchema,
  /** `why` is said where nobody has asked it to. */
  z.object({ kind: z.literal("service-stopped"), why: z.optional(z.string()) }),
]);

/** `POST /api/runners/{id}/heartbeat`: renews the leases of `runs` at once, and is held until there is something to stop. */
export const heartbeatRequestSchema = z.strictObject({ runs: runIds });
export const heartbeatReplySchema = z.object({
  stop: z.array(z.object({ runId: z.string(), reason: stopReasonSchema })),
  /** Those of `runs` that aren't this runner's any more. It ends them without a word. */
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

/** What a run's process says, and its runner passes on. */
export const passedOn = {
  /** The run's inputs once it knows all of them, masked. */
  inputs: z.object({ kind: z.literal("inputs"), inputs: inputValuesSchema }),
  /** What is kept of the run, masked, once its steps and its cleanup have succeeded. */
  outputs: z.object({ kind: z.literal("outputs"), outputs: z.record(z.string(), z.unknown()) }),
  /** A piece of a step's log, masked. The joined pieces of a stream are the whole output. */
  output: z.object({
    kind: z.literal("output"),
    index,
    at: instant,
    stream: z.enum(["stdout", "stderr", "note"]),
    text: z.string(),
  }),
  /** An artifact of a step, whose content is there already as `file`. */
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

/** What a runner says of its run, in order. */
const runnerMessageSchema = z.discriminatedUnion("kind", [
  /** A step as it is now: it has started or stopped. */
  z.object({
    kind: z.literal("step"),
    index,
    ...stepSchema.shape,
    status: z.enum(["running", "succeeded", "failed", "stopped", "lost", "skipped", "not-reached"]),
  }),
  passedOn.inputs,
  passedOn.outputs,
  /** The pipeline file and what it includes, masked. */
  z.object({
    kind: z.literal("pipeline"),
    ...ranPipelineSchema.shape,
    texts: ranPipelineSchema.shape.texts.check(
      z.refine((texts) => Object.keys(texts).length <= 1 + mostParts, `at most ${1 + mostParts} files`),
    ),
  }),
  passedOn.output,
  passedOn.artifact,
  /** The only one: nothing of the run was begun, since its runner's machine lacks what that needs. Another runner may take it. */
  z.object({ kind: z.literal("returned") }),
  /** The last one: no process of the run is left. The service knows who has stopped it, unless its runner did by the time limit. */
  z.object({ kind: z.literal("ended"), end: runnerEndSchema, stopReason: z.optional(timedOutSchema) }),
]);

/**
 * `POST /api/runs/{id}/messages`. The messages of a run are numbered from 1, `first` is the number of the first of these; those
 * that the service has already are skipped, so that resending is safe. 409 when the run is not this runner's any more.
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
