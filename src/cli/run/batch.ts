import type { ServiceClient } from "../../client/service/client.ts";
import { startRun } from "../../client/start/startRun.ts";
import type { InputValues } from "../../contract/inputs.ts";
import { waitSeconds } from "../../contract/limits.ts";
import { type RefusedStart, startOptions } from "../../contract/refusal.ts";
import type { Run, StartRequest } from "../../contract/run.ts";
import type { QueuePlace } from "../../text/queueText.ts";
import type { LiveLines } from "../terminal/liveLines.ts";
import type { RunTerminal } from "../tool.ts";
import { type Followed, followStarted, type LogStream } from "./followStarted.ts";
import { type ProgressDeps, waitProgress } from "./progress.ts";

/** The outcome of one pipeline of the command line. */
export type Outcome =
  | Followed
  | { readonly kind: "refused"; readonly start: RefusedStart }
  | { readonly kind: "not-started"; readonly pipeline: string; readonly error?: unknown }
  /** Interrupted during the wait for a slot. `isInDoubt`: no reply came, so a run may exist. */
  | { readonly kind: "abandoned"; readonly pipeline: string; readonly isInDoubt: boolean };

export interface BatchOptions {
  readonly parallel: number;
  readonly detach: boolean;
  /** The start request of every pipeline, except its name. */
  readonly request: Omit<StartRequest, "pipeline">;
  /** The project's folder, if there is one here. */
  readonly root: string | undefined;
  /** The inputs of each pipeline; by default only what the request has. */
  readonly inputs?: ReadonlyMap<string, InputValues>;
  readonly log: LogStream | undefined;
  readonly live: LiveLines;
  /** Whether each line starts with its pipeline's name, since other pipelines print too. */
  readonly isOneOfSeveral: boolean;
  /** The options that a retry needs, as command-line words. */
  readonly retryOptions: readonly string[];
  /** Called every second of a wait, with the queue position if known. */
  readonly onWaiting?: (secondsLeft: number, place: QueuePlace | undefined) => void;
  /** Called once per pipeline, when its start has succeeded, was refused or has failed. */
  readonly onReply?: () => void;
  /** Called with each started run, before it is followed. */
  readonly onStarted?: (run: Run) => void;
}

/** The runs of one command, in the order of the command line. */
export class Batch {
  readonly #tool: RunTerminal;
  /** Pipelines whose start request has no reply yet, so a run may exist. */
  readonly starting = new Set<string>();
  /** Started runs whose end isn't known yet. */
  readonly active = new Set<Run>();
  #client: ServiceClient;
  readonly #options: BatchOptions;
  readonly #progress: ProgressDeps;
  /** Runs that were started at the moment of an interrupt. */
  readonly #unwanted = new Set<Run>();
  readonly #outcomes: Outcome[] = [];

  constructor(tool: RunTerminal, client: ServiceClient, options: BatchOptions) {
    this.#tool = tool;
    this.#client = client;
    this.#options = options;
    const { live, isOneOfSeveral } = options;
    this.#progress = { output: tool.output, live, clock: client.clock, isOneOfSeveral };
  }

  async run(pipelines: readonly string[]): Promise<readonly Outcome[]> {
    const waiting = pipelines.entries();
    const worker = async (): Promise<void> => {
      for (const [index, pipeline] of waiting) this.#outcomes[index] = await this.#runOne(pipeline);
    };
    await Promise.all(Array.from({ length: Math.min(this.#options.parallel, pipelines.length) }, worker));
    return this.#outcomes;
  }

  async #runOne(pipeline: string): Promise<Outcome> {
    const started = await this.#start(pipeline);
    this.#options.onReply?.();
    if (started.kind !== "run") return started;
    const { run } = started;
    this.#options.onStarted?.(run);
    if (this.#options.detach && !this.#unwanted.has(run)) {
      this.#progress.output.note(`${pipeline}: ${run.runId} started`);
      return started;
    }
    this.active.add(run);
    const { log } = this.#options;
    const followed = await followStarted(this.#tool, this.#client, run, { ...this.#progress, log });
    this.active.delete(run);
    return followed;
  }

  async #start(pipeline: string): Promise<Outcome> {
    const { interrupted } = this.#tool;
    const { request, retryOptions } = this.#options;
    const inputs = this.#options.inputs?.get(pipeline) ?? {};
    const options = [...retryOptions, ...startOptions({ inputs })];
    if (interrupted.aborted || this.#outcomes.some(isFault)) return { kind: "not-started", pipeline };
    const refusals = this.#outcomes.filter((outcome) => outcome.kind === "refused");
    const usedUp = refusals.find(({ start }) => start.refusal.scope === "free-day");
    // The day's runs are used up, so every other start would be refused too.
    if (usedUp !== undefined) {
      const { refusal } = usedUp.start;
      return { kind: "refused", start: { pipeline, refusal, waitedSeconds: 0, options } };
    }
    using progress = waitProgress(this.#progress, pipeline);
    let unwanted: Run | undefined;
    let isInDoubt = false;
    let queued: QueuePlace | undefined;
    this.starting.add(pipeline);
    try {
      const outcome = await startRun(
        { ...request, pipeline, ...(Object.keys(inputs).length === 0 ? {} : { inputs }) },
        {
          client: this.#client,
          root: this.#options.root,
          ownRunId: this.#tool.env["PIPELINE_RUN_ID"],
          // After one refusal, the other pipelines don't wait for a slot.
          waitSeconds: refusals.length > 0 ? 0 : waitSeconds,
          onWaitStart: (servedAt) => void progress.begin(this.#client, servedAt),
          onWaiting: (secondsLeft) => {
            progress.show(secondsLeft);
            this.#options.onWaiting?.(secondsLeft, queued);
          },
          onPlace: (place) => {
            queued = place;
            progress.showPlace(place);
          },
          onUnwanted: (run) => {
            unwanted = run;
            this.#unwanted.add(run);
            this.starting.delete(pipeline);
            this.active.add(run);
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
      if (outcome.kind === "started") return { kind: "run", run: outcome.run, isFollowed: false };
      const { kind, ...refused } = outcome;
      return { kind, start: { pipeline, ...refused, options } };
    } catch (error) {
      if (unwanted !== undefined) return { kind: "run", run: unwanted, isFollowed: false };
      return interrupted.aborted
        ? { kind: "abandoned", pipeline, isInDoubt }
        : { kind: "not-started", pipeline, error };
    } finally {
      this.starting.delete(pipeline);
    }
  }
}

/** Whether no more runs are started, since they would probably fail in the same way. A refusal isn't a fault. */
export function isFault(outcome: Outcome): outcome is Extract<Outcome, { error?: unknown }> {
  return "error" in outcome && outcome.error !== undefined;
}
