import type { Readable } from "node:stream";
import type { InputValues } from "../../contract/pipelines.ts";
import type { RanPipeline } from "../../contract/run.ts";
import type { Pipeline } from "../../pipeline/pipeline.ts";

/**
 * The protocol between the service and a runner's process, one JSON value per line: one job to the runner, its life signs
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

/** A line after the job: the steps are to end now, and the cleanup steps are to run. */
export interface CleanupOrder {
  /** When the cleanup has to be over, in `machineMilliseconds`. */
  readonly cleanUpUntil: number;
}

/**
 * Monotonic milliseconds, the same in all processes of a machine, so that a time read late from a pipe still means what it meant
 * when it was written. They stand still while the machine sleeps.
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
  /** The texts of the pipeline's file and of the files that it includes; left out, they aren't kept. */
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
  /** Complete, except for those that the run evaluates when it begins. */
  readonly inputs?: InputValues | undefined;
  /** What expressions know of the run besides its id and pipeline. `startedAt` is when it was created. */
  readonly project?: string | undefined;
  readonly startedAt?: string | undefined;
}

export interface DryJob
  extends Pick<RunnerJob, "root" | "pipeline" | "inputs" | "project" | "fromStep" | "environment"> {
  /** Whether to connect to the hosts and databases that steps name. */
  readonly isConnecting: boolean;
}

/** The argument with which the runner's program reads a list of jobs and writes the result of each one's dry run. */
export const dryRunArgument = "--dry-run";

/** The argument with which the runner's program is the process that runs SQLite. */
export const sqliteArgument = "--sqlite";

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
