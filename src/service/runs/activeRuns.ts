import type { Clock } from "../../contract/clock.ts";
import type { ServedRun, Step } from "../../contract/run.ts";
import type { Admission } from "../admission/admission.ts";
import { setRunner } from "../admission/leases.ts";
import type { EnterRequest } from "../admission/waiter.ts";
import type { EventBus } from "../eventBus.ts";
import type { Log } from "../log.ts";
import type { RunningJob } from "../runner/launch.ts";
import { touchRun } from "../store/runChanges.ts";
import { markCancelling, putStep, type RunEnd, removeRun, stopRun } from "../store/runs.ts";
import type { Write } from "../store/tables.ts";
import type { Writer } from "../store/writer.ts";
import { endOf, type StopReason, stoppedEnd } from "./runEnd.ts";
import type { RunRecord } from "./runRecord.ts";

export interface ActiveRunsDeps {
  readonly writer: Writer;
  readonly clock: Clock;
  readonly bus: EventBus;
  readonly log: Log;
  readonly release: Admission["release"];
  readonly launch: (
    job: EnterRequest["work"] & { readonly runId: string },
    onStep: (step: Step, position: number) => void,
    record: RunRecord,
  ) => RunningJob;
  /** Begins to keep what a run leaves behind. */
  readonly record: (orgId: string, runId: string) => RunRecord;
}

interface ActiveRun extends Pick<EnterRequest, "orgId" | "work"> {
  /** How many callers are being told of it and neither know of it yet nor have left: one for each repeated key. */
  callers: number;
  /** Undefined until a caller was told of it: only then its processes are started. */
  job: RunningJob | undefined;
  isWithdrawn: boolean;
  stopReason: StopReason | undefined;
  /** The name of the step in work. */
  step: string | undefined;
  /** Settles when the end is in the database and the slot is given up; undefined until there is an end to write. */
  ended: Promise<void> | undefined;
  stopTimer: () => void;
}

/** How long to pause before a write that has to be is tried once more, in milliseconds: longer each time, to a limit. */
const writeAgainAfter = { first: 1_000, longest: 10_000 } as const;

/**
 * How long a run may be admitted without its caller having been told or having left, in milliseconds. Either happens at
 * once; this is for the fault that nobody thought of, so that not even that one keeps a slot.
 */
const toldWithin = 60_000;

/**
 * The runs that this service holds, from the moment that their row is there: it starts their processes, stops them,
 * and writes down how they ended. A row in work of this service that isn't held here is nobody's (see `recover.ts`).
 */
export class ActiveRuns {
  readonly #deps: ActiveRunsDeps;
  readonly #runs = new Map<string, ActiveRun>();
  readonly #stopping = new AbortController();

  constructor(deps: ActiveRunsDeps) {
    this.#deps = deps;
  }

  get count(): number {
    return this.#runs.size;
  }

  /** The ids of the runs held now. */
  held(): ReadonlySet<string> {
    return new Set(this.#runs.keys());
  }

  /**
   * Holds a run that is being granted, from before its row is committed. Whoever is given it has to `launch` or to
   * `withdraw` it.
   */
  hold({ runId }: ServedRun, { orgId, work }: EnterRequest): void {
    const stopTimer = this.#deps.clock.after(toldWithin, () => {
      const run = this.#runs.get(runId);
      if (run === undefined || run.ended !== undefined) return;
      this.#deps.log("error", "a run's caller was neither told nor gone", { runId });
      run.ended = this.#writeEnd(runId, run, { status: "lost", reason: "it was never begun" });
    });
    this.#runs.set(runId, {
      orgId,
      work,
      callers: 1,
      job: undefined,
      isWithdrawn: false,
      stopReason: undefined,
      step: undefined,
      ended: undefined,
      stopTimer,
    });
  }

  /** One more caller is being told of a run. */
  join(runId: string): void {
    const run = this.#runs.get(runId);
    if (run !== undefined) run.callers += 1;
  }

  /** Holds a run no more: it has ended, or its row was never committed. */
  letGo(runId: string): void {
    this.#runs.get(runId)?.stopTimer();
    this.#runs.delete(runId);
  }

  /** Whether a run is being taken back, though its row may still be there. */
  isWithdrawn(runId: string): boolean {
    return this.#runs.get(runId)?.isWithdrawn ?? false;
  }

  /**
   * Starts the processes of a run that has been admitted, now that a caller was told: the first of them, when the key
   * was repeated. Of one that was cancelled meanwhile nothing is started. Never throws.
   */
  launch(run: ServedRun): void {
    const { runId } = run;
    const held = this.#runs.get(runId);
    if (held === undefined || held.job !== undefined || held.ended !== undefined) return;
    held.stopTimer();
    if (this.#stopping.signal.aborted) {
      this.#stop(runId, { kind: "service-stopped" });
      return;
    }
    // Step by step in the order they came, and all of them before the end is written.
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
    const record = this.#deps.record(held.orgId, runId);
    // What a full disk has not taken of the steps is written with the end, which is tried until it is.
    const unwritten = new Map<number, Step>();
    const onStep = (step: Step, position: number) => {
      held.step = step.status === "running" ? step.name : undefined;
      unwritten.set(position, step);
      void write((tx) => putStep(tx, runId, position, step)).then((isWritten) => {
        if (isWritten && unwritten.get(position) === step) unwritten.delete(position);
        this.#tellRun(held.orgId, runId);
      });
    };
    try {
      held.job = this.#deps.launch({ runId, ...held.work }, onStep, record);
    } catch (error) {
      this.#deps.log("error", "run not launched", { runId, error });
      const end = { status: "lost", reason: "its runner couldn't be started" } as const;
      held.ended = this.#writeEnd(runId, held, end).then(() => record.end());
      return;
    }
    const { job } = held;
    const { pid } = job;
    void write((tx) => touchRun(tx, runId)).then(() => this.#tellRun(held.orgId, runId));
    void job.identity.then((runner) => runner && write((tx) => setRunner(tx, runId, runner)));
    const seconds = run.timeLimitSeconds;
    const origin = seconds === held.work.pipeline.timeLimitSeconds ? "file" : "start";
    held.stopTimer = this.#deps.clock.after(seconds * 1000, () => {
      this.#stop(runId, { kind: "timed-out", seconds, origin, step: held.step });
    });
    held.ended = job.ended.then(async (end) => {
      held.stopTimer();
      await writes;
      await record
        .complete()
        .catch((error: unknown) => this.#deps.log("error", "log not completed", { runId, error }));
      await this.#writeEnd(runId, held, endOf(end, held.stopReason), unwritten);
      record.end();
    });
    this.#deps.log("info", "run started", { runId, pipeline: run.pipeline, pid });
  }

  /**
   * Takes back a run that was admitted for someone who has left without hearing of it, unless another caller is being
   * told of it. One that was cancelled meanwhile has been seen by somebody: it stays, with its end.
   */
  withdraw(runId: string): void {
    const held = this.#runs.get(runId);
    if (held === undefined || held.job !== undefined || held.ended !== undefined) return;
    held.callers -= 1;
    if (held.callers > 0) return;
    held.stopTimer();
    held.isWithdrawn = true;
    held.ended = this.#release(runId, held.orgId, (tx) => removeRun(tx, runId), "withdrawn");
  }

  /**
   * Begins to end a run. It holds its slot until its processes are gone; an ended run is left as it is, and so is one
   * that ends already: the first reason stays. Where it can't be written that a run is being cancelled, `asTold` says so until the end is written.
   * @throws PipelineError when it can't be written for a run that isn't held: then nothing has begun.
   */
  async cancel(orgId: string, runId: string, by: string): Promise<void> {
    const isHeld = this.#runs.has(runId);
    if (isHeld && !this.#stop(runId, { kind: "cancelled", by })) return;
    try {
      await this.#deps.writer.write((tx) => markCancelling(tx, runId));
      this.#tellRun(orgId, runId);
    } catch (error) {
      if (!isHeld) throw error;
      this.#deps.log("error", "not written that a run is being cancelled", { runId, error });
      this.#deps.bus.emit(orgId, { kind: "unwritten-run", runId });
    }
  }

  /** The run as its row has it, and ahead of its row while it is being cancelled. */
  asTold<R extends ServedRun>(run: R): R {
    const isAhead = run.status === "running" && this.#runs.get(run.runId)?.stopReason?.kind === "cancelled";
    return isAhead ? { ...run, status: "cancelling" } : run;
  }

  /**
   * Ends every run that has processes, as the service itself is about to end: a run outlives no service. Asked again
   * once no caller is being answered any more, it waits for the ends of those that were on the way.
   */
  async stopAll(): Promise<void> {
    this.#stopping.abort();
    for (const [runId, { job }] of this.#runs) {
      if (job !== undefined) this.#stop(runId, { kind: "service-stopped" });
    }
    await Promise.all([...this.#runs.values()].map(({ ended }) => ended));
  }

  /** @returns whether this was the first reason to stop the run. */
  #stop(runId: string, reason: StopReason): boolean {
    const held = this.#runs.get(runId);
    if (held === undefined || held.stopReason !== undefined) return false;
    if (held.job === undefined && held.ended !== undefined) return false;
    held.stopReason = reason;
    this.#deps.log("info", "run stopping", { runId, why: reason.kind });
    if (held.job !== undefined) held.job.stop();
    else {
      held.stopTimer();
      held.ended = this.#writeEnd(runId, held, stoppedEnd(reason));
    }
    return true;
  }

  #writeEnd(
    runId: string,
    { orgId }: ActiveRun,
    end: RunEnd,
    steps: ReadonlyMap<number, Step> = new Map(),
  ): Promise<void> {
    const endedAt = this.#deps.clock.now();
    const write = async (tx: Write) => {
      for (const [position, step] of steps) await putStep(tx, runId, position, step);
      await stopRun(tx, runId, end, endedAt);
    };
    return this.#release(runId, orgId, write, end.status);
  }

  /**
   * A slot may not be lost because a disk was full for a while: what gives it up is written until it is, or until the
   * service is to stop, which leaves the rest to the recovery of its next start.
   */
  async #release(
    runId: string,
    orgId: string,
    end: (tx: Write) => Promise<void>,
    status: string,
  ): Promise<void> {
    const { release, log, clock, bus } = this.#deps;
    const { signal } = this.#stopping;
    for (let pause: number = writeAgainAfter.first; ; pause = Math.min(pause * 2, writeAgainAfter.longest)) {
      try {
        await release(orgId, end);
        log("info", "run stopped", { runId, status });
        break;
      } catch (error) {
        log("error", "the end of a run could not be written, trying again", { runId, error });
        if (signal.aborted) break;
        await new Promise<void>((resolve) => {
          const stopTimer = clock.after(pause, resolve);
          const stopNow = () => {
            stopTimer();
            resolve();
          };
          signal.addEventListener("abort", stopNow, { once: true });
        });
      }
    }
    this.letGo(runId);
    bus.emit(orgId, { kind: "org" });
    this.#tellRun(orgId, runId);
  }

  #tellRun(orgId: string, runId: string): void {
    this.#deps.bus.emit(orgId, { kind: "run", runId });
  }
}
