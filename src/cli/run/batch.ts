import type { ServiceClient } from "../../client/service/client.ts";
import { startRun } from "../../client/start/startRun.ts";
import { waitSeconds } from "../../contract/limits.ts";
import type { RefusedStart } from "../../contract/refusal.ts";
import type { Run } from "../../contract/run.ts";
import type { Tool } from "../tool.ts";
import { followStarted } from "./followStarted.ts";
import type { LogDestination } from "./printLog.ts";
import { type ProgressDeps, WaitProgress } from "./progress.ts";

/** What became of one name on the command line. */
export type Outcome =
  /** `isFollowed` is false for a run that was started to be left alone, or of which the service doesn't tell how it ends. */
  | { readonly kind: "run"; readonly run: Run; readonly isFollowed: boolean }
  | { readonly kind: "follow-failed"; readonly run: Run; readonly error: unknown }
  | { readonly kind: "refused"; readonly start: RefusedStart }
  | { readonly kind: "not-started"; readonly pipeline: string; readonly error?: unknown }
  /** An interrupt came during the wait for a slot. `isInDoubt`: no reply came, so there may be a run. */
  | { readonly kind: "abandoned"; readonly pipeline: string; readonly isInDoubt: boolean };

/** A run that there is now; an unwanted one was started in the moment of an interrupt. */
interface Started {
  readonly kind: "run";
  readonly run: Run;
  readonly isUnwanted: boolean;
}

export interface BatchOptions {
  readonly parallel: number;
  readonly detach: boolean;
  readonly project: string | undefined;
  readonly timeLimitSeconds: number | undefined;
  readonly log: LogDestination | undefined;
  /** What a retry is to be asked with, as words of the command line. */
  readonly retryOptions: readonly string[];
}

/** The runs of one call of the tool, in the order of the command line. */
export class Batch {
  readonly #tool: Tool;
  readonly #starting = new Set<string>();
  #client: ServiceClient;
  readonly #options: BatchOptions;
  readonly #progress: ProgressDeps;
  readonly #inWork = new Set<Run>();
  readonly #outcomes: Outcome[] = [];
  #hasStarted = false;

  constructor(tool: Tool, client: ServiceClient, options: BatchOptions, progress: ProgressDeps) {
    this.#tool = tool;
    this.#client = client;
    this.#options = options;
    this.#progress = progress;
  }

  /** Runs that were started and whose end isn't known yet. */
  get inWork(): readonly Run[] {
    return [...this.#inWork];
  }

  /** Pipelines whose start is being asked for, so that it isn't known whether there is a run. */
  get starting(): readonly string[] {
    return [...this.#starting];
  }

  /** Whether there has been any run. */
  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  /** @param onLastStart called when nothing is left to be started. */
  async run(pipelines: readonly string[], onLastStart: () => void): Promise<readonly Outcome[]> {
    const waiting = pipelines.entries();
    let notStarted = pipelines.length;
    const settled = (): void => {
      notStarted -= 1;
      if (notStarted === 0) onLastStart();
    };
    const worker = async (): Promise<void> => {
      for (const [index, pipeline] of waiting) this.#outcomes[index] = await this.#runOne(pipeline, settled);
    };
    await Promise.all(Array.from({ length: Math.min(this.#options.parallel, pipelines.length) }, worker));
    return this.#outcomes;
  }

  async #runOne(pipeline: string, onStarted: () => void): Promise<Outcome> {
    const started = await this.#start(pipeline);
    if (started.kind === "run") this.#hasStarted = true;
    onStarted();
    if (started.kind !== "run") return started;
    const { run, isUnwanted } = started;
    if (this.#options.detach && !isUnwanted) {
      this.#progress.output.note(`${pipeline}: ${run.runId} started`);
      return { kind: "run", run, isFollowed: false };
    }
    this.#inWork.add(run);
    const followed = await followStarted(this.#tool, this.#client, run, {
      ...this.#progress,
      log: this.#options.log,
    });
    this.#inWork.delete(run);
    if (followed.kind === "follow-failed") return followed;
    if (followed.kind === "end-unknown") {
      const { host } = this.#client.baseUrl;
      this.#progress.output.warn(`${pipeline}: ${host} doesn't tell how ${run.runId} ends.`);
    }
    return { kind: "run", run: followed.run, isFollowed: followed.kind === "ended" };
  }

  async #start(pipeline: string): Promise<Exclude<Outcome, { kind: "run" }> | Started> {
    const { interrupted } = this.#tool;
    const { project, timeLimitSeconds, retryOptions: options } = this.#options;
    if (interrupted.aborted || this.#outcomes.some(isFault)) return { kind: "not-started", pipeline };
    const before = this.#outcomes.filter((outcome) => outcome.kind === "refused");
    const usedUp = before.find(({ start }) => start.refusal.scope === "free-day");
    // Nothing starts any more today, so the service needn't be asked for each of the others.
    if (usedUp !== undefined) {
      const { refusal } = usedUp.start;
      return { kind: "refused", start: { pipeline, refusal, waitedSeconds: 0, options } };
    }
    using progress = new WaitProgress(this.#progress, pipeline);
    let unwanted: Run | undefined;
    let isInDoubt = false;
    this.#starting.add(pipeline);
    try {
      const outcome = await startRun(
        {
          pipeline,
          ...(project === undefined ? {} : { project }),
          ...(timeLimitSeconds === undefined ? {} : { timeLimitSeconds }),
        },
        {
          client: this.#client,
          // Who has waited in vain once does not make the next pipeline wait as long again.
          patienceSeconds: before.length > 0 ? 0 : waitSeconds,
          onWaitStart: (servedAt) => progress.begin(this.#client, servedAt),
          onWaiting: (secondsLeft) => progress.show(secondsLeft),
          onUnwanted: (run) => {
            unwanted = run;
            this.#starting.delete(pipeline);
            this.#inWork.add(run);
          },
          onDoubt: () => {
            isInDoubt = true;
          },
          reconnect: async (signal) => {
            this.#client = await this.#tool.connect(signal);
            return this.#client;
          },
        },
        interrupted,
      );
      if (outcome.kind === "started") return { kind: "run", run: outcome.run, isUnwanted: false };
      const { refusal, waitedSeconds } = outcome;
      return { kind: "refused", start: { pipeline, refusal, waitedSeconds, options } };
    } catch (error) {
      if (unwanted !== undefined) return { kind: "run", run: unwanted, isUnwanted: true };
      return interrupted.aborted
        ? { kind: "abandoned", pipeline, isInDoubt }
        : { kind: "not-started", pipeline, error };
    } finally {
      this.#starting.delete(pipeline);
    }
  }
}

/** After which nothing more is started: it would most likely meet the same. A place that another run lacks is none. */
function isFault(outcome: Outcome): boolean {
  switch (outcome.kind) {
    case "follow-failed":
      return true;
    case "not-started":
      return outcome.error !== undefined;
    default:
      return false;
  }
}
