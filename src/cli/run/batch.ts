import { followLog } from "../../client/follow/followLog.ts";
import { followRun, isUnseen } from "../../client/follow/followRun.ts";
import { TerminalLines } from "../../client/follow/terminalLines.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { Deadline, DeadlinePassed } from "../../client/service/deadline.ts";
import { cancelWithRetries } from "../../client/start/cancelRuns.ts";
import { startRun } from "../../client/start/startRun.ts";
import { waitSeconds } from "../../contract/limits.ts";
import type { InputValues } from "../../contract/pipelines.ts";
import { type RefusedStart, runCommand, startOptions } from "../../contract/refusal.ts";
import { type CancelReply, nameOf, type Run, type StartRequest } from "../../contract/run.ts";
import { anySignal } from "../../machine/anySignal.ts";
import type { QueuePlace } from "../../text/refusalText.ts";
import { failureOf } from "../output/output.ts";
import type { LiveLines } from "../terminal/terminal.ts";
import type { RunTerminal } from "../tool.ts";
import { type ProgressDeps, runProgress, waitProgress } from "./progress.ts";

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

/** `isFollowed`: false with `--detach`, or if the service doesn't show a run's end. `follow-failed`: it may still be active. */
type Followed =
  | { readonly kind: "run"; readonly run: Run; readonly isFollowed: boolean }
  | { readonly kind: "follow-failed"; readonly run: Run; readonly error: unknown };

/** In seconds: the longest gap between log entries once the run has stopped. */
const restOfLogTimeout = 10;

/**
 * Follows a run to its end and prints its log if requested. An interrupt cancels the run, whose end is still awaited (contract:
 * "The command-line tool"). An abort of `leaving` ends the following.
 */
async function followStarted(
  tool: RunTerminal,
  client: ServiceClient,
  started: Run,
  deps: ProgressDeps & { readonly log: LogStream | undefined },
): Promise<Followed> {
  const { interrupted, leaving } = tool;
  let service = client;
  // Doesn't use the interrupt's signal: following continues until the cancelled run ends.
  const reconnect = async (signal: AbortSignal): Promise<ServiceClient> => {
    service = await tool.connect(signal);
    return service;
  };
  using progress = runProgress(deps, started, deps.log !== undefined);
  const stop = new AbortController();
  const ends = anySignal([leaving, stop.signal]);
  let cancelled: Promise<CancelReply | undefined> | undefined;
  const cancel = (): void => {
    progress.cancelling();
    cancelled = cancelWithRetries(() => service, reconnect, started.runId, ends).catch((error: unknown) => {
      stop.abort(error);
      return undefined;
    });
    void cancelled.then((reply) => {
      if (reply?.warning !== undefined) progress.note(reply.warning);
    });
  };
  if (interrupted.aborted) cancel();
  else interrupted.addEventListener("abort", cancel, { once: true });
  using patience = new Deadline(client.clock, ends);
  let hasEnded = false;
  let isPrinting = false;
  const onEntry = (): void => {
    isPrinting = true;
    patience.disarm();
  };
  const onPrinted = (): void => {
    isPrinting = false;
    if (hasEnded) patience.arm(restOfLogTimeout);
  };
  const onLine = (stepIndex: number): void => progress.logged(stepIndex);
  const { log: stream, isOneOfSeveral } = deps;
  const printing = stream && { stream, isOneOfSeveral, onEntry, onLine, onPrinted };
  const log =
    printing &&
    printLog(tool, client, started, printing, patience.signal).finally(() =>
      progress.logged(Number.POSITIVE_INFINITY),
    );
  let run = started;
  try {
    const seen = (now: Run): void => {
      run = now;
      progress.show(now);
    };
    run = await followRun(client, started, seen, ends, reconnect);
    hasEnded = true;
    if (!isPrinting) patience.arm(restOfLogTimeout);
    await log;
    progress.end(run);
    return { kind: "run", run, isFollowed: true };
  } catch (error) {
    // Even if the end can't be seen, the cancel request must reach the service.
    const reply = await cancelled;
    if (!isUnseen(error)) return { kind: "follow-failed", run, error };
    tool.output.warn(`${nameOf(run)}: ${client.baseUrl.host} doesn't report how ${run.runId} ends.`);
    return {
      kind: "run",
      run: reply === undefined ? run : { ...run, status: reply.status },
      isFollowed: false,
    };
  } finally {
    interrupted.removeEventListener("abort", cancel);
    stop.abort();
    await log;
  }
}

/**
 * Where the steps' output is printed. With several pipelines or `--json`, standard output is reserved for the refusal or the JSON
 * object.
 */
type LogStream = "output" | "error";

interface PrintedLog extends Pick<ProgressDeps, "isOneOfSeveral"> {
  readonly stream: LogStream;
  readonly onEntry: () => void;
  readonly onLine: (stepIndex: number) => void;
  readonly onPrinted: () => void;
}

/**
 * Prints a run's log live until it is complete. A log that can't be read only causes a warning: the run goes on.
 * @param onEntry called for each received entry, and `onPrinted` once it is printed, which a slow reader may delay; `onLine` is
 * called before each line, with its step.
 * @param signal ends the printing early: silently, or with a warning if its reason is `DeadlinePassed`.
 */
async function printLog(
  tool: RunTerminal,
  client: ServiceClient,
  run: Run,
  { stream, isOneOfSeveral, onEntry, onLine, onPrinted }: PrintedLog,
  signal: AbortSignal,
): Promise<void> {
  const { output } = tool;
  const { hasColor } = stream === "output" ? output.out : output.err;
  const apiKeys = new Set([client.apiKey]);
  const lines = new TerminalLines({ hasColor, apiKeys });
  const whose = isOneOfSeveral ? `${nameOf(run)}: ` : "";
  const print = (whole: ReturnType<TerminalLines["rest"]>): void => {
    for (const { text, stepIndex } of whole) {
      onLine(stepIndex);
      if (stream === "output") output.line(`${whose}${text}`);
      else output.aside(`${whose}${text}`);
    }
  };
  const ends = stream === "output" ? anySignal([signal, tool.unread]) : signal;
  const onGap = (first: number, last: number): void =>
    output.warn(`${nameOf(run)}: the service left out the log's entries ${first} to ${last}.`);
  const reconnect = async (signal: AbortSignal): Promise<ServiceClient> => {
    const found = await tool.connect(signal);
    apiKeys.add(found.apiKey);
    return found;
  };
  try {
    await followLog(
      client,
      run.runId,
      { follow: true, onGap, reconnect },
      async (entry) => {
        onEntry();
        print(lines.add(entry));
        await output.drained(ends);
        onPrinted();
      },
      ends,
    );
  } catch (error) {
    if (signal.reason instanceof DeadlinePassed) {
      output.warn(
        `${nameOf(run)}: the rest of its log did not come in time: \`${runCommand("log", run.runId)}\` prints it all.`,
      );
    } else if (!ends.aborted) {
      output.warn(`${nameOf(run)}: its log can't be read: ${failureOf(error).failure.message}`);
    }
  }
  print(lines.rest());
}
