import * as z from "zod/mini";
import { commitSchema, ranPipelineSchema } from "../../contract/run.ts";
import { passedOn } from "../../contract/runners.ts";
import { resourceTypeNames } from "../../pipeline/types/resultFields.ts";

/** The messages of a runner's process to the service. Not in `protocol.ts`, so that a runner needn't load the schemas. */

const texts = z.array(z.string());

/** The result of a dry run. Texts are masked, and show an expression as the file writes it where only a run knows its value. */
export const dryRunSchema = z.object({
  inputs: z.record(z.string(), z.string()),
  /** Why a run would fail before its first step. */
  problems: texts,
  steps: z.array(
    z.object({
      name: z.string(),
      use: z.string(),
      type: z.enum(resourceTypeNames),
      /** Whether the step is one of `finally`. */
      cleanup: z.optional(z.literal(true)),
      /** Why it wouldn't run. */
      skipped: z.optional(z.string()),
      /** When, how often and for what it would run. */
      conditions: texts,
      /** What it would send or run, one per line. */
      does: texts,
      /** Why it would fail; a problem of several steps is reported only for the first. */
      problems: texts,
      /** What is missing, but may be there once the step runs; likewise. */
      warnings: texts,
    }),
  ),
});

export type DryRun = z.infer<typeof dryRunSchema>;

const index = z.int().check(z.nonnegative());
const outcome = z.enum(["succeeded", "failed"]);

/** A program's output, or `note` for the runner's own lines. */
export type OutputStream = StepOutput["stream"];

export const messageSchema = z.discriminatedUnion("kind", [
  /** A step as it is now. `stopped`: it had to end so that the run can clean up. */
  z.object({
    kind: z.literal("step"),
    index,
    status: z.enum(["skipped", "running", "succeeded", "failed", "stopped"]),
    startedAt: z.optional(z.string()),
    stoppedAt: z.optional(z.string()),
    message: z.optional(z.string()),
    /** How many attempts it took, for a step with `retry`. */
    attempts: z.optional(z.int().check(z.positive())),
  }),
  /** A step's program has started; its id is also its process group's. */
  z.object({ kind: z.literal("spawned"), pid: z.int().check(z.positive()) }),
  /** No process of the group is left; the system may reuse its id. */
  z.object({ kind: z.literal("vacated"), pid: z.int().check(z.positive()) }),
  /** Before the first step. */
  passedOn.inputs,
  passedOn.outputs,
  /** The pipeline file as it runs, masked, before its first step. */
  z.object({ kind: z.literal("pipeline"), ...ranPipelineSchema.shape, commit: z.optional(commitSchema) }),
  passedOn.output,
  passedOn.artifact,
  /** The run's outcome is final. Programs that its steps left running are ended after this. */
  z.object({ kind: z.literal("finished"), outcome, message: z.optional(z.string()) }),
]);

export type Message = z.infer<typeof messageSchema>;
export type StepOutput = Extract<Message, { kind: "output" }>;
export type RunValues = Extract<Message, { kind: "inputs" | "outputs" | "pipeline" }>;
export type SavedArtifact = Extract<Message, { kind: "artifact" }>;
