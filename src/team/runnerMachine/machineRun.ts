import { once } from "node:events";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { growingPauses } from "../../client/service/retry.ts";
import { describeError, PipelineError } from "../../contract/errors.ts";
import type { RunnerEnd, RunnerMessage, StopReason, Work } from "../../contract/runners.ts";
import { snapshotSeconds } from "../../contract/service.ts";
import type { Clock } from "../../machine/clock.ts";
import type { Log } from "../../machine/log.ts";
import { shortageOf } from "../../project/systemErrors.ts";
import {
  type LaunchDeps,
  type LaunchedRun,
  type LaunchedStep,
  launchRunner,
} from "../../runner/launch/launch.ts";
import { machineMilliseconds, type RunnerJob } from "../../runner/launch/protocol.ts";
import { cleanupPart, RunLimit } from "../../runner/launch/runLimit.ts";
import { parseDefinition } from "../parseDefinition.ts";
import { noteProcess, removeFolder } from "./machineFolder.ts";
import { Outbox } from "./outbox.ts";
import { type RunnerApi, retryPauses } from "./runnerApi.ts";

/** Unpacks a project's files, a gzipped tar that isn't trusted, into an empty folder. */
export type Unpack = (archive: Uint8Array, folder: string, signal: AbortSignal) => Promise<void>;

export interface MachineRunDeps
  extends Pick<LaunchDeps, "runners" | "processes" | "graceMilliseconds" | "now"> {
  readonly api: Pick<RunnerApi, "sendMessages" | "putArtifact" | "snapshot">;
  readonly runnerId: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Where each run gets a folder of its own. */
  readonly folder: string;
  readonly unpack: Unpack;
  /** Aborted once the runner is to end when its runs have. */
  readonly draining: AbortSignal;
}

/** How much longer than this process the run's own waits, so that it ends the run by itself only where this one can't. */
const processMilliseconds = 1_000;
/**
 * The part of a lease that a run lives without another accepted heartbeat, counted from the sending of the last one: 8 s of 20,
 * which is 6 s from its reply. The rest is for its grace time, and for a machine that is slow.
 */
const livedPart = 0.4;

/** @param renewedAt when its lease may have begun, in `machineMilliseconds`. @returns when the run ends by itself. */
export function livesUntil({ leaseSeconds }: Work, renewedAt: number): number {
  return renewedAt + leaseSeconds * 1000 * livedPart;
}

/** A run that this runner holds: from its work's arrival until its processes are gone and the service knows its end. */
export class MachineRun {
  readonly runId: string;
  /** Whether the service has the run's end, refused it, or has the run back. Settles when the run is over; never rejects. */
  readonly over: Promise<"delivered" | "refused" | "returned">;
  readonly #work: Work;
  readonly #deps: MachineRunDeps;
  readonly #outbox: Outbox;
  /** Aborted when the run has to end, also before it has processes. */
  readonly #ending = new AbortController();
  #renewedAt: number;
  #cancelFence = () => {};
  #job: LaunchedRun | undefined;
  /** The job's time limit, once there is a job. */
  #limit: RunLimit | undefined;
  #stopReason: StopReason | undefined;
  #step: string | undefined;
  #isFenced = false;
  #isGone = false;

  /** @param renewedAt see `livesUntil`. */
  constructor(work: Work, renewedAt: number, deps: MachineRunDeps) {
    this.runId = work.runId;
    this.#work = work;
    this.#deps = deps;
    this.#renewedAt = renewedAt;
    const { api, runnerId, clock, log } = deps;
    const { runId } = work;
    this.#outbox = new Outbox({
      clock,
      log: (level, message, facts) => log(level, message, { runId, ...facts }),
      send: (first, messages, signal) => api.sendMessages({ runId, runnerId }, first, messages, signal),
      read: ({ file }) => readFile(join(this.#artifacts, file)),
      upload: ({ file }, content, signal) => api.putArtifact({ runId, runnerId }, file, content, signal),
      isFutile: () => this.#isFutile(),
    });
    // If the service refuses the messages, the run is not this runner's any more.
    void this.#outbox.delivered.then((isDelivered) => isDelivered || this.#end());
    this.#fence();
    this.over = this.#perform();
  }

  /** Called when the service has renewed the run's lease. */
  renew(renewedAt: number): void {
    if (renewedAt <= this.#renewedAt) return;
    this.#renewedAt = renewedAt;
    if (this.#ending.signal.aborted) return;
    this.#job?.live(this.#livesUntil + processMilliseconds);
    this.#fence();
  }

  /** Begins to end the run: its steps, then its cleanup. The first reason counts; the service repeats it. */
  stop(reason: StopReason): void {
    if (this.#ending.signal.aborted) return;
    if (this.#stopReason !== undefined) {
      if (reason.kind === "cancelled" && reason.again) this.#limit?.stop();
      return;
    }
    this.#stopReason = reason;
    if (this.#limit === undefined) this.#end();
    else this.#limit.stop();
  }

  /** Ends a run that isn't this runner's any more, and reports nothing more of it. */
  abandon(): void {
    this.#outbox.close();
    this.#end();
  }

  get #livesUntil(): number {
    return livesUntil(this.#work, this.#renewedAt);
  }

  get #folder(): string {
    return join(this.#deps.folder, this.runId);
  }

  get #artifacts(): string {
    return join(this.#folder, "artifacts");
  }

  #end(): void {
    this.#cancelFence();
    this.#ending.abort();
    this.#job?.stop();
  }

  /** Ends the run at `livesUntil`. Without an accepted heartbeat its lease ends soon after, and another run gets its slot. */
  #fence(): void {
    this.#cancelFence();
    const rest = this.#livesUntil - machineMilliseconds();
    if (rest > 0) {
      // After a suspension, timers run before sockets are read, where a heartbeat's good reply may wait.
      this.#cancelFence = this.#deps.clock.after(rest, () => setImmediate(() => this.#fence()));
    } else if (!this.#ending.signal.aborted) {
      this.#isFenced = true;
      this.#deps.log("warn", "a run is ended, since the service is out of touch", { runId: this.runId });
      this.#end();
    }
  }

  async #perform(): Promise<Awaited<MachineRun["over"]>> {
    const { log } = this.#deps;
    const { runId } = this;
    const last = await this.#run().then(
      (end) => this.#endMessage(end),
      (error: unknown): RunnerMessage => {
        if (this.#ending.signal.aborted) return this.#endMessage({ kind: "stopped" });
        log("error", "run not begun", { runId, error });
        // Only a run that wasn't launched throws, so another runner may take it.
        if (shortageOf(error) !== undefined) return { kind: "returned" };
        const message = `its runner couldn't begin it: ${describeError(error)}`;
        return this.#endMessage({ kind: "died", message });
      },
    );
    this.#isGone = true;
    this.#outbox.add(last);
    // Nothing is left to fence: the lease is renewed until the service has the end.
    this.#end();
    const isDelivered = await this.#outbox.delivered;
    await removeFolder(this.#folder, log);
    log("info", "run over", { runId, last: last.kind, isDelivered });
    if (last.kind === "returned") return "returned";
    return isDelivered ? "delivered" : "refused";
  }

  #endMessage(end: RunnerEnd): RunnerMessage {
    const stopReason = this.#stopReason;
    const message = { kind: "ended", end: this.#fencedEnd(end) } as const;
    return stopReason?.kind === "timed-out" ? { ...message, stopReason } : message;
  }

  /**
   * Whether a draining runner may stop sending: the run has no process left, and its lease is over, even if the last heartbeat
   * renewed it and only the reply was lost. The service then takes no end of the run, unless its database was away as well.
   */
  #isFutile(): boolean {
    const leaseOver = this.#livesUntil + this.#work.leaseSeconds * 1000;
    return this.#deps.draining.aborted && this.#isGone && machineMilliseconds() > leaseOver;
  }

  #fencedEnd(end: RunnerEnd): RunnerEnd {
    if (!this.#isFenced || end.kind === "succeeded" || end.kind === "failed") return end;
    return { kind: "died", message: "its runner was out of touch with the service and ended it" };
  }

  async #run(): Promise<RunnerEnd> {
    const { work, timeLimitSeconds } = this.#work;
    const { clock, log } = this.#deps;
    const parsed = parseDefinition(work);
    if (parsed.kind === "invalid") {
      const [{ line, message }] = parsed.problems;
      return { kind: "failed", message: `${work.path}:${line}: ${message}` };
    }
    const { pipeline } = parsed;
    const limitMilliseconds = timeLimitSeconds * 1000;
    const cleanupMilliseconds = cleanupPart(limitMilliseconds, pipeline);
    using limit = new RunLimit({
      clock,
      limitMilliseconds,
      cleanupMilliseconds,
      job: {
        stop: (cleaning) => {
          if (cleaning === undefined || this.#job === undefined) this.#end();
          else this.#job.stop(cleaning);
        },
      },
      onReached: (stepsMilliseconds) => {
        const origin = timeLimitSeconds === pipeline.timeLimitSeconds ? "file" : "start";
        const limits = { seconds: timeLimitSeconds, stepsMilliseconds };
        const reason = { kind: "timed-out", ...limits, origin, step: this.#step } as const;
        if (this.#stopReason === undefined) this.stop(reason);
        else limit.stop();
      },
    });
    this.#limit = limit;
    const cleanUpAt = machineMilliseconds() + limitMilliseconds - cleanupMilliseconds + processMilliseconds;
    const root = join(this.#folder, "files");
    await mkdir(root, { recursive: true, mode: 0o700 });
    const { signal } = this.#ending;
    signal.throwIfAborted();
    if (work.snapshot !== undefined) {
      const ended = once(signal, "abort").then((): never => {
        throw signal.reason;
      });
      // Raced, so that no archive, whoever made it, keeps the run from ending.
      const problem = await Promise.race([this.#unpack(work.snapshot, root), ended]);
      if (problem !== undefined) return { kind: "failed", message: problem };
      signal.throwIfAborted();
    }
    const job = this.#launch({ pipeline, root, cleanUpAt });
    this.#job = job;
    void job.identity
      .then((identity) => identity && noteProcess(this.#folder, identity))
      .catch((error: unknown) =>
        log("warn", "the process of a run can't be noted", { runId: this.runId, error }),
      );
    log("info", "run started", { runId: this.runId, pipeline: pipeline.name, pid: job.pid });
    return await job.ended;
  }

  #launch(how: Pick<RunnerJob, "pipeline" | "root" | "cleanUpAt">): LaunchedRun {
    const { work, agent, project, startedAt } = this.#work;
    const { path, text, parts } = work;
    return launchRunner(
      {
        ...how,
        runId: this.runId,
        agent,
        project,
        startedAt,
        fromStep: work.fromStep,
        inputs: work.inputs,
        isSnapshot: true,
        source: { path, texts: { [path]: text, ...parts } },
        artifactsFolder: this.#artifacts,
        livesUntil: this.#livesUntil + processMilliseconds,
      },
      {
        ...this.#deps,
        onStep: (step: LaunchedStep, index) => {
          this.#step = step.status === "running" ? step.name : undefined;
          if (step.cleanup && step.status === "running") this.#limit?.cleaningUp();
          this.#outbox.add({ kind: "step", index, ...step });
        },
        onOutput: (output) => this.#outbox.add(output),
        onArtifact: (artifact) => this.#outbox.add(artifact),
        onValues: (values) => this.#outbox.add(values),
      },
    );
  }

  /** @returns why the project's files can't be had. @throws for what isn't the project's fault; the signal's reason. */
  async #unpack(digest: string, root: string): Promise<string | undefined> {
    const archive = await this.#download(digest);
    if (archive === undefined) return "the project's files are not on the service any more: start it again";
    try {
      await this.#deps.unpack(archive, root, this.#ending.signal);
    } catch (error) {
      if (error instanceof PipelineError && error.type === "invalid-request") return describeError(error);
      throw error;
    }
    return undefined;
  }

  /** Downloads a snapshot, retrying for up to `snapshotSeconds`. @returns undefined when the service doesn't have it. */
  async #download(digest: string): Promise<Uint8Array | undefined> {
    const { signal } = this.#ending;
    const { runId } = this;
    const { api, runnerId, clock } = this.#deps;
    const until = clock.monotonic() + snapshotSeconds * 1000;
    const pauses = growingPauses(Math.random, retryPauses);
    for (;;) {
      try {
        return await api.snapshot({ runId, runnerId }, digest, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof PipelineError && error.type === "not-found") return undefined;
        if (clock.monotonic() >= until) throw error;
        this.#deps.log("warn", "the project's files can't be had", { runId, error });
        await clock.sleep(pauses.next().value, signal);
      }
    }
  }
}
