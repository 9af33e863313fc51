import type { RunStep, ServedRun } from "../../contract/run.ts";
import type { StopReason } from "../../contract/runners.ts";
import type { LaunchDeps, RunningJob } from "../../runner/launch/launch.ts";
import type { SavedArtifact } from "../../runner/launch/messages.ts";
import { cleanupPart, RunLimit } from "../../runner/launch/runLimit.ts";
import { setValues } from "../store/ranPipelines.ts";
import { setRunner, touchRun } from "../store/runChanges.ts";
import { addArtifact } from "../store/runFiles.ts";
import { markCancelling, putSteps, type RunEnd, removeRun, stopRun } from "../store/runs.ts";
import type { StoreDeps } from "../store/storeDeps.ts";
import type { Write } from "../store/tables.ts";
import type { RunLogs } from "./runLogs.ts";
import { endOf, type LocalWork, type Runs, sameCancel, stoppedEnd, type Work } from "./runs.ts";

export interface ActiveRunsDeps extends Omit<StoreDeps, "db"> {
  /** Writes the end of a run and grants its slot (`Admission.release`). */
  readonly release: (orgId: string, end: (tx: Write) => Promise<void>) => Promise<void>;
  readonly launch: (
    job: LocalWork & Pick<ServedRun, "runId" | "agent" | "timeLimitSeconds"> & { readonly startedAt: string },
    listeners: Pick<LaunchDeps, "onStep" | "onOutput" | "onArtifact" | "onValues">,
  ) => RunningJob;
  /** Called when a run may be launched soon. */
  readonly prepareRunner: (environment: readonly string[] | undefined) => void;
  readonly logs: Pick<RunLogs, "begin">;
}

interface ActiveRun {
  readonly orgId: string;
  readonly work: LocalWork;
  /** The number of callers whose reply is on its way: one, and one more for each repeated request. */
  callers: number;
  /** Undefined until a caller has its reply: only then the processes are started. */
  job: RunningJob | undefined;
  isWithdrawn: boolean;
  /** The job's time limit. */
  limit: RunLimit | undefined;
  stopReason: StopReason | undefined;
  /** When it was first cancelled, on the monotonic clock; something else may have stopped it before. */
  cancelledAt: number | undefined;
  /** The name of the running step. */
  step: string | undefined;
  /** Settles when the end is in the database and the slot is released; undefined until there is an end to write. */
  ended: Promise<void> | undefined;
}

/** The growing pause before the end of a run is written again, in milliseconds. */
const retryPause = { first: 1_000, longest: 10_000 } as const;

/**
 * The active runs of this service, from before their row is committed: starts and stops their processes, and writes how
 * they ended. An active row of this service that is not here is recovered (see `recovery.ts`).
 */
export class ActiveRuns implements Runs {
  readonly #deps: ActiveRunsDeps;
  readonly #runs = new Map<string, ActiveRun>();
  readonly #stopping = new AbortController();

  constructor(deps: ActiveRunsDeps) {
    this.#deps = deps;
  }

  get count(): number {
    return this.#runs.size;
  }

  get isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  ids(): ReadonlySet<string> {
    return new Set(this.#runs.keys());
  }

  /** Adds a run that is being granted, before its row is committed. Whoever gets it has to `launch` or `withdraw` it. */
  add(runId: string, { orgId, work }: { readonly orgId: string; readonly work: Work }): void {
    if (!("root" in work)) throw new Error("a run of this machine needs its project's folder");
    this.#runs.set(runId, {
      orgId,
      work,
      callers: 1,
      job: undefined,
      isWithdrawn: false,
      limit: undefined,
      stopReason: undefined,
      cancelledAt: undefined,
      step: undefined,
      ended: undefined,
    });
  }

  prepare(environment: readonly string[] | undefined): void {
    if (!this.isStopping) this.#deps.prepareRunner(environment);
  }

  /** One more caller gets the run as its reply. */
  join(runId: string): void {
    const run = this.#runs.get(runId);
    if (run !== undefined) run.callers += 1;
  }

  /** Removes a run that has ended, or whose row was never committed. */
  remove(runId: string): void {
    this.#runs.delete(runId);
  }

  /** Whether a run is being withdrawn. Its row may still be there. */
  isWithdrawn(runId: string): boolean {
    return this.#runs.get(runId)?.isWithdrawn ?? false;
  }

  /** Does nothing for a run that was cancelled meanwhile. */
  launch(run: ServedRun): void {
    const { runId, agent, createdAt: startedAt, timeLimitSeconds: seconds } = run;
    const active = this.#runs.get(runId);
    if (active === undefined || active.job !== undefined || active.ended !== undefined) return;
    if (this.isStopping) {
      this.#stop(runId, { kind: "service-stopped" });
      return;
    }
    const { log, logs } = this.#deps;
    const { orgId, work } = active;
    const runLog = logs.begin(runId);
    const { write, done } = this.#writesOf(orgId, runId);
    // Steps that aren't written yet, perhaps because the disk is full, are written with the next step or the run's end.
    const unwritten = new Map<number, RunStep>();
    let isWriteQueued = false;
    const onStep = (step: RunStep, position: number) => {
      active.step = step.status === "running" ? step.name : undefined;
      if (step.cleanup && step.status === "running") active.limit?.cleaningUp();
      unwritten.set(position, step);
      // Steps that weren't reached come all at once, before the first step that cleans up or the end, and are written with it.
      if (step.status === "not-reached" || isWriteQueued) return;
      isWriteQueued = true;
      let steps: ReadonlyMap<number, RunStep> | undefined;
      const writing = write((tx) => {
        isWriteQueued = false;
        steps = new Map(unwritten);
        return putSteps(tx, runId, steps);
      });
      void writing.then((isWritten) => {
        if (steps === undefined) isWriteQueued = false;
        for (const [at, written] of (isWritten && steps) || [])
          if (unwritten.get(at) === written) unwritten.delete(at);
      });
    };
    const onArtifact = async ({ kind: _, index: stepIndex, at, ...file }: SavedArtifact) => {
      if (await write((tx) => addArtifact(tx, runId, { ...file, stepIndex, at }))) return;
      const text = `${file.name} is lost: it couldn't be stored\n`;
      runLog.append({ at, stepIndex, stream: "note", text });
    };
    try {
      const job = { runId, agent, startedAt, timeLimitSeconds: seconds, ...work };
      active.job = this.#deps.launch(job, {
        onStep,
        onOutput: ({ at, index: stepIndex, stream, text }) => runLog.append({ at, stepIndex, stream, text }),
        onArtifact: (artifact) => void onArtifact(artifact),
        onValues: (values) => void write((tx) => setValues(tx, runId, values)),
      });
    } catch (error) {
      log("error", "run not launched", { runId, error });
      const end = { status: "lost", reason: "its runner couldn't be started" } as const;
      active.ended = this.#writeEnd(runId, active, end).then(() => runLog.end());
      return;
    }
    const { job } = active;
    void write((tx) => touchRun(tx, runId));
    void job.identity.then((runner) => runner && write((tx) => setRunner(tx, runId, runner)));
    active.limit = this.#limitOf(runId, active, job, seconds);
    active.ended = job.ended.then(async (end) => {
      active.limit?.[Symbol.dispose]();
      await done();
      await runLog.complete().catch((error: unknown) => log("error", "log not completed", { runId, error }));
      await this.#writeEnd(runId, active, endOf(end, active.stopReason), unwritten);
      runLog.end();
      this.prepare(work.environment);
    });
    log("info", "run started", { runId, pipeline: run.pipeline, pid: job.pid });
  }

  /** Keeps a run that was cancelled meanwhile, since somebody has seen it. */
  withdraw(runId: string): void {
    const active = this.#runs.get(runId);
    if (active === undefined || active.job !== undefined || active.ended !== undefined) return;
    active.callers -= 1;
    if (active.callers > 0) return;
    active.isWithdrawn = true;
    active.ended = this.#release(runId, active.orgId, (tx) => removeRun(tx, runId), "withdrawn");
  }

  /**
   * Leaves an ended run as it is. If `cancelling` can't be written, the row says `running` until the run's end is written.
   * @throws PipelineError when it can't be written for a run that this service doesn't hold; nothing has begun then.
   */
  async cancel(orgId: string, runId: string, by: string): Promise<void> {
    const active = this.#runs.get(runId);
    const now = this.#deps.clock.monotonic();
    if (active?.cancelledAt !== undefined) {
      if (now - active.cancelledAt >= sameCancel) active.limit?.stop();
      return;
    }
    if (active !== undefined) active.cancelledAt = now;
    this.#stop(runId, { kind: "cancelled", by });
    try {
      await this.#deps.writer.write((tx) => markCancelling(tx, runId));
      this.#emitRun(orgId, runId);
    } catch (error) {
      if (active === undefined) throw error;
      this.#deps.log("error", "not written that a run is being cancelled", { runId, error });
    }
  }

  /**
   * Stops every run that has processes, for the service's shutdown, since no run outlives its service. Called again once no
   * reply is on its way, it also waits for the runs that were granted meanwhile.
   * @param why the service ends; undefined when somebody asked it to.
   */
  async stopAll(why?: string): Promise<void> {
    this.#stopping.abort();
    for (const [runId, { job }] of this.#runs) {
      if (job !== undefined) this.#stop(runId, { kind: "service-stopped", why });
    }
    await Promise.all([...this.#runs.values()].map(({ ended }) => ended));
  }

  /** @returns whether this was the first reason to stop the run. */
  #stop(runId: string, reason: StopReason): boolean {
    const active = this.#runs.get(runId);
    if (active === undefined || active.stopReason !== undefined) return false;
    if (active.job === undefined && active.ended !== undefined) return false;
    active.stopReason = reason;
    this.#deps.log("info", "run stopping", { runId, why: reason.kind });
    if (active.limit !== undefined) active.limit.stop();
    else active.ended = this.#writeEnd(runId, active, stoppedEnd(reason));
    return true;
  }

  /** Writes what an active run reports, in order. */
  #writesOf(orgId: string, runId: string) {
    let writes: Promise<unknown> = Promise.resolve();
    return {
      /** @returns whether it was written. */
      write: (act: (tx: Write) => Promise<void>): Promise<boolean> => {
        const written = this.#deps.writer.write(act).then(
          () => true,
          (error: unknown) => {
            this.#deps.log("error", "not written", { runId, error });
            return false;
          },
        );
        void written.then(() => this.#emitRun(orgId, runId));
        writes = Promise.all([writes, written]);
        return written;
      },
      /** Resolves when all writes so far are done. */
      done: () => writes,
    };
  }

  #limitOf(runId: string, active: ActiveRun, job: RunningJob, seconds: number): RunLimit {
    const { pipeline } = active.work;
    const origin = seconds === pipeline.timeLimitSeconds ? "file" : "start";
    const limitMilliseconds = seconds * 1000;
    const limit = new RunLimit({
      ...{ clock: this.#deps.clock, job, limitMilliseconds },
      cleanupMilliseconds: cleanupPart(limitMilliseconds, pipeline),
      onReached: (stepsMilliseconds) => {
        const { step } = active;
        const reason = { kind: "timed-out", seconds, stepsMilliseconds, origin, step } as const;
        if (!this.#stop(runId, reason)) limit.stop();
      },
    });
    return limit;
  }

  #writeEnd(
    runId: string,
    { orgId }: ActiveRun,
    end: RunEnd,
    steps: ReadonlyMap<number, RunStep> = new Map(),
  ): Promise<void> {
    const endedAt = this.#deps.clock.now();
    const write = async (tx: Write) => {
      await putSteps(tx, runId, steps);
      await stopRun(tx, runId, end, endedAt);
    };
    return this.#release(runId, orgId, write, end.status);
  }

  /**
   * Writes the end that releases a run's slot, retrying until it succeeds, so that a full disk costs no slot. A service that
   * stops leaves the end to the recovery of its next start.
   */
  async #release(
    runId: string,
    orgId: string,
    end: (tx: Write) => Promise<void>,
    status: string,
  ): Promise<void> {
    const { release, log, clock, bus } = this.#deps;
    const { signal } = this.#stopping;
    for (let pause: number = retryPause.first; ; pause = Math.min(pause * 2, retryPause.longest)) {
      try {
        await release(orgId, end);
        log("info", "run stopped", { runId, status });
        break;
      } catch (error) {
        log("error", "the end of a run could not be written, trying again", { runId, error });
        if (signal.aborted) break;
        await clock.sleep(pause, signal).catch(() => {});
      }
    }
    this.remove(runId);
    bus.emit(orgId, { kind: "org" });
    this.#emitRun(orgId, runId);
  }

  #emitRun(orgId: string, runId: string): void {
    this.#deps.bus.emit(orgId, { kind: "run", runId });
  }
}
