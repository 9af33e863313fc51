import type { RunStep, ServedRun } from "../../contract/run.ts";
import type { StopReason } from "../../contract/runners.ts";
import type { Clock } from "../../machine/clock.ts";
import type { Log } from "../../machine/log.ts";
import type { RunningJob } from "../../runner/launch/launch.ts";
import type { RunValues } from "../../runner/launch/messages.ts";
import { cleanupPart, RunLimit } from "../../runner/launch/runLimit.ts";
import type { EventBus } from "../store/eventBus.ts";
import { setRunner } from "../store/leases.ts";
import { setValues } from "../store/ranPipelines.ts";
import { touchRun } from "../store/runChanges.ts";
import { markCancelling, putSteps, type RunEnd, removeRun, stopRun } from "../store/runs.ts";
import type { Write } from "../store/tables.ts";
import type { Writer } from "../store/writer.ts";
import { endOf, stoppedEnd } from "./runEnd.ts";
import type { RunRecord } from "./runRecord.ts";
import { type LocalWork, type Runs, sameCancel, type Work } from "./runs.ts";

export interface ActiveRunsDeps {
  readonly writer: Writer;
  readonly clock: Clock;
  readonly bus: EventBus;
  readonly log: Log;
  /** Writes the end of a run and grants its slot (`Admission.release`). */
  readonly release: (orgId: string, end: (tx: Write) => Promise<void>) => Promise<void>;
  readonly launch: (
    job: LocalWork & Pick<ServedRun, "runId" | "agent" | "timeLimitSeconds"> & { readonly startedAt: string },
    onStep: (step: RunStep, position: number) => void,
    record: RunRecord & { readonly onValues: (values: RunValues) => void },
  ) => RunningJob;
  /** Called when a run may be launched soon. */
  readonly prepareRunner: (environment: readonly string[] | undefined) => void;
  readonly record: (orgId: string, runId: string) => RunRecord;
}

interface ActiveRun {
  readonly orgId: string;
  readonly work: LocalWork;
  /** The callers whose reply is on its way: one, and one more for each repeated request. */
  callers: number;
  /** Undefined until a caller has its reply: only then the processes are started. */
  job: RunningJob | undefined;
  isWithdrawn: boolean;
  /** Of the job. */
  limit: RunLimit | undefined;
  stopReason: StopReason | undefined;
  /** When it was first cancelled, on the monotonic clock; something else may have stopped it before. */
  cancelledAt: number | undefined;
  /** The name of the running step. */
  step: string | undefined;
  /** Settles when the end is in the database and the slot is released; undefined until there is an end to write. */
  ended: Promise<void> | undefined;
  cancelTimer: () => void;
}

/** The growing pause before the end of a run is written again, in milliseconds. */
const retryPause = { first: 1_000, longest: 10_000 } as const;

/**
 * How long a granted run may be neither launched nor withdrawn, in milliseconds. Either happens at once; this keeps a
 * bug from keeping the slot.
 */
const launchTimeout = 60_000;

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

  ids(): ReadonlySet<string> {
    return new Set(this.#runs.keys());
  }

  /** Adds a run that is being granted, before its row is committed. Whoever gets it has to `launch` or `withdraw` it. */
  add(runId: string, { orgId, work }: { readonly orgId: string; readonly work: Work }): void {
    if (!("root" in work)) throw new Error("a run of this machine needs its project's folder");
    const cancelTimer = this.#deps.clock.after(launchTimeout, () => {
      const run = this.#runs.get(runId);
      if (run === undefined || run.ended !== undefined) return;
      this.#deps.log("error", "a granted run was neither launched nor withdrawn", { runId });
      run.ended = this.#writeEnd(runId, run, { status: "lost", reason: "it was never begun" });
    });
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
      cancelTimer,
    });
  }

  prepare(environment: readonly string[] | undefined): void {
    if (!this.#stopping.signal.aborted) this.#deps.prepareRunner(environment);
  }

  /** One more caller gets the run as its reply. */
  join(runId: string): void {
    const run = this.#runs.get(runId);
    if (run !== undefined) run.callers += 1;
  }

  /** Removes a run that has ended, or whose row was never committed. */
  remove(runId: string): void {
    this.#runs.get(runId)?.cancelTimer();
    this.#runs.delete(runId);
  }

  /** Whether a run is being withdrawn. Its row may still be there. */
  isWithdrawn(runId: string): boolean {
    return this.#runs.get(runId)?.isWithdrawn ?? false;
  }

  /** Does nothing for a run that was cancelled meanwhile. */
  launch(run: ServedRun): void {
    const { runId } = run;
    const active = this.#runs.get(runId);
    if (active === undefined || active.job !== undefined || active.ended !== undefined) return;
    active.cancelTimer();
    if (this.#stopping.signal.aborted) {
      this.#stop(runId, { kind: "service-stopped" });
      return;
    }
    // The steps are written in order, and all of them before the end.
    let writes: Promise<void> = Promise.resolve();
    const write = (act: (tx: Write) => Promise<void>): Promise<boolean> => {
      const written = this.#deps.writer.write(act).then(
        () => true,
        (error: unknown) => {
          this.#deps.log("error", "not written", { runId, error });
          return false;
        },
      );
      writes = Promise.all([writes, written]).then(() => {});
      return written;
    };
    const record = this.#deps.record(active.orgId, runId);
    const { agent, createdAt: startedAt, timeLimitSeconds: seconds } = run;
    // Steps that the database has not taken yet, or that a full disk has not, are written with the next one, or with the end.
    const unwritten = new Map<number, RunStep>();
    let isWriteQueued = false;
    const onStep = (step: RunStep, position: number) => {
      active.step = step.status === "running" ? step.name : undefined;
      if (step.cleanup && step.status === "running") active.limit?.cleaningUp();
      unwritten.set(position, step);
      // They come all at once, before the first step that cleans up or the end.
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
        this.#emitRun(active.orgId, runId);
      });
    };
    const onValues = (values: RunValues) => {
      void write((tx) => setValues(tx, runId, values)).then(() => this.#emitRun(active.orgId, runId));
    };
    try {
      const job = { runId, agent, startedAt, timeLimitSeconds: seconds, ...active.work };
      active.job = this.#deps.launch(job, onStep, { ...record, onValues });
    } catch (error) {
      this.#deps.log("error", "run not launched", { runId, error });
      const end = { status: "lost", reason: "its runner couldn't be started" } as const;
      active.ended = this.#writeEnd(runId, active, end).then(() => record.end());
      return;
    }
    const { job } = active;
    const { pid } = job;
    void write((tx) => touchRun(tx, runId)).then(() => this.#emitRun(active.orgId, runId));
    void job.identity.then((runner) => runner && write((tx) => setRunner(tx, runId, runner)));
    const origin = seconds === active.work.pipeline.timeLimitSeconds ? "file" : "start";
    const limitMilliseconds = seconds * 1000;
    const limit = new RunLimit({
      ...{ clock: this.#deps.clock, job, limitMilliseconds },
      cleanupMilliseconds: cleanupPart(limitMilliseconds, active.work.pipeline),
      onReached: (stepsMilliseconds) => {
        const { step } = active;
        const reason = { kind: "timed-out", seconds, stepsMilliseconds, origin, step } as const;
        if (!this.#stop(runId, reason)) limit.stop();
      },
    });
    active.limit = limit;
    active.ended = job.ended.then(async (end) => {
      limit[Symbol.dispose]();
      await writes;
      await record
        .complete()
        .catch((error: unknown) => this.#deps.log("error", "log not completed", { runId, error }));
      await this.#writeEnd(runId, active, endOf(end, active.stopReason), unwritten);
      record.end();
      this.prepare(active.work.environment);
    });
    this.#deps.log("info", "run started", { runId, pipeline: run.pipeline, pid });
  }

  /** A run that was cancelled meanwhile has been seen by somebody: it stays, with its end. */
  withdraw(runId: string): void {
    const active = this.#runs.get(runId);
    if (active === undefined || active.job !== undefined || active.ended !== undefined) return;
    active.callers -= 1;
    if (active.callers > 0) return;
    active.cancelTimer();
    active.isWithdrawn = true;
    active.ended = this.#release(runId, active.orgId, (tx) => removeRun(tx, runId), "withdrawn");
  }

  /**
   * Leaves an ended run as it is. Where `cancelling` can't be written, `upToDate` says it until the end is written.
   * @throws PipelineError when it can't be written for a run that isn't active: then nothing has begun.
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
      this.#deps.bus.emit(orgId, { kind: "unwritten-run", runId });
    }
  }

  /** The run as its row has it, and `cancelling` even where the row does not say so yet. */
  upToDate<R extends ServedRun>(run: R): R {
    const isAhead = run.status === "running" && this.#runs.get(run.runId)?.cancelledAt !== undefined;
    return isAhead ? { ...run, status: "cancelling" } : run;
  }

  /**
   * Stops every run that has processes, for the service's shutdown: a run outlives no service. Called again once no
   * reply is on its way, it also waits for the runs that were granted meanwhile.
   * @param why it ends, where nobody has asked it to.
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
    else {
      active.cancelTimer();
      active.ended = this.#writeEnd(runId, active, stoppedEnd(reason));
    }
    return true;
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
   * Writes what releases a run's slot, again and again: a disk that is full for a while loses no slot. A service that
   * stops leaves the rest to the recovery of its next start.
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
