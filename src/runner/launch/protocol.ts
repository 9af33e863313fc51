import type { Readable } from "node:stream";
import * as z from "zod/mini";
import { commitSchema, type RanPipeline, ranPipelineSchema } from "../../contract/changes.ts";
import type { InputValues } from "../../contract/inputs.ts";
import { passedOn } from "../../contract/runners.ts";
import type { Pipeline } from "../../pipeline/pipeline.ts";
import { resourceTypeNames } from "../../pipeline/types/resourceTypes.ts";

/**
 * The protocol between the service and a runner's process, one JSON value a line: one job to the runner, its life signs
 * and an order to clean up, and messages to the service. The job's pipe stays open; when it closes, the runner ends the run.
 */
export interface Job extends RunnerJob {
  /** From SIGTERM to SIGKILL when the run's processes are ended, in milliseconds. */
  readonly graceMilliseconds: number;
}

/** A line after the job: the run may live longer. */
export interface LifeSign {
  /** See `RunnerJob.livesUntil`. */
  readonly livesUntil: number;
}

/** A line after the job: the steps are to end now, and what cleans up is to run. */
export interface CleanupOrder {
  /** When that has to be over, in `machineMilliseconds`. */
  readonly cleanUpUntil: number;
}

/**
 * Milliseconds that no clock change moves, and the same in all processes of a machine: what is read late from a pipe then means
 * what it meant when it was written. They stand still while the machine sleeps.
 */
export function machineMilliseconds(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}

export interface RunnerJob {
  /** Letters, digits, `_` and `-`. */
  readonly runId: string;
  /** The project's folder, absolute. */
  readonly root: string;
  readonly pipeline: Pipeline;
  /** The texts of the file that `pipeline` is of, and of its parts; left out, they aren't kept. */
  readonly source?: RanPipeline;
  /** Whether the folder holds only the files that came with the start, and so none that git ignores. */
  readonly isSnapshot?: boolean;
  /** The variables of who started the run, each as `NAME=value`; left out, those of the service count. */
  readonly environment?: readonly string[];
  /** The first step to run, by its name; those before it are skipped. */
  readonly fromStep?: string | undefined;
  /** The coding agent that started the run, for its log. */
  readonly agent?: string | undefined;
  /** Where the steps' artifacts are saved, absolute; created with the first one. */
  readonly artifactsFolder: string;
  /**
   * The run's process ends the run then, in `machineMilliseconds`, unless a later `LifeSign` came: whoever started it may have
   * been suspended, and can neither keep the run's time limit nor its lease.
   */
  readonly livesUntil?: number;
  /** When the steps end by themselves so that the run cleans up, likewise: the time limit without the cleanup's part of it. */
  readonly cleanUpAt?: number | undefined;
  /** Complete but for those that the run finds out. */
  readonly inputs?: InputValues | undefined;
  /** What expressions know of the run beside its id and pipeline. `startedAt` is when it was made. */
  readonly project?: string | undefined;
  readonly startedAt?: string | undefined;
}

/** What to look at without a run. */
export interface DryJob
  extends Pick<RunnerJob, "root" | "pipeline" | "inputs" | "project" | "fromStep" | "environment"> {
  /** Whether to connect to the hosts and databases that steps name. */
  readonly isConnecting: boolean;
}

/** The argument with which the runner's program reads a list of jobs and writes what it found of each. */
export const dryRunArgument = "--dry-run";

const texts = z.array(z.string());

/** A run that didn't happen. Texts are masked, and have an expression as the file writes it where only a run knows its value. */
export const dryRunSchema = z.object({
  inputs: z.record(z.string(), z.string()),
  /** Why a run would fail before its first step. */
  problems: texts,
  steps: z.array(
    z.object({
      name: z.string(),
      use: z.string(),
      type: z.enum(resourceTypeNames),
      /** It is of `finally`. */
      cleanup: z.optional(z.literal(true)),
      /** Why it wouldn't run. */
      skipped: z.optional(z.string()),
      /** When, how often and for what it would run. */
      conditions: texts,
      /** What it would send or run, a line each. */
      does: texts,
      /** Why it would fail; each is told of the first step alone. */
      problems: texts,
      /** What isn't there yet, but may be once it runs; likewise. */
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
  z.object({ kind: z.literal("step-skipped"), index, at: z.string() }),
  z.object({ kind: z.literal("step-started"), index, at: z.string() }),
  /** A step's program has started; its id is also its process group's. */
  z.object({ kind: z.literal("spawned"), pid: z.int().check(z.positive()) }),
  /** No process of the group is left; the system may reuse its id. */
  z.object({ kind: z.literal("vacated"), pid: z.int().check(z.positive()) }),
  z.object({
    kind: z.literal("step-stopped"),
    index,
    at: z.string(),
    /** Stopped: it had to end so that the run cleans up. */
    status: z.enum(["succeeded", "failed", "stopped"]),
    message: z.optional(z.string()),
    /** How many attempts it took, for a step with `retry`. */
    attempts: z.optional(z.int().check(z.positive())),
  }),
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

/**
 * Reads lines that end with `\n` alone: `node:readline` also splits at U+2028 and U+2029, which JSON doesn't escape. An
 * unfinished last line is dropped.
 */
export function readLines(input: Readable, read: (line: string) => void): void {
  const begun: string[] = [];
  input.setEncoding("utf8").on("data", (piece: string) => {
    const [first = "", ...others] = piece.split("\n");
    begun.push(first);
    for (const next of others) {
      read(begun.splice(0).join(""));
      begun.push(next);
    }
  });
}
