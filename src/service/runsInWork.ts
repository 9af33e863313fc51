import type { Run, RunStatus, Step } from "../contract/run.ts";
import type { Pipeline } from "../pipeline/pipeline.ts";
import type { Changes } from "./changes.ts";
import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";
import type { RunnerEnd, RunningJob } from "./runner/launch.ts";
import type { RunRecord } from "./runRecord.ts";
import { markCancelling, putStep, type RunEnd, stopRun } from "./store/runs.ts";
import type { Database } from "./store/tables.ts";
import { touchRun } from "./store/touchRun.ts";

export interface RunsInWorkDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly changes: Changes;
  readonly log: Log;
  readonly launch: (
    job: { readonly runId: string; readonly root: string; readonly pipeline: Pipeline },
    onStep: (step: Step, position: number) => void,
    record: RunRecord,
  ) => RunningJob;
  /** Begins to keep what a run leaves behind. */
  readonly record: (orgId: string, runId: string) => RunRecord;
  readonly onPlaceGivenUp: (orgId: string) => void;
}

/** Why a run is being stopped from outside. The first reason is kept, later ones change nothing. */
type StopReason =
  | { readonly kind: "cancelled"; readonly by: string }
  | { readonly kind: "timed-out"; readonly seconds: number }
  | { readonly kind: "service-stopped" };

interface RunInWork {
  readonly job: RunningJob;
  stopReason: StopReason | undefined;
  /** Settles when the end is in the database and the place is given up. */
  ended: Promise<void>;
}

/** How long to pause before the end of a run is written once more, in milliseconds. */
const writeAgainAfter = 1_000;

/** The runs whose processes this service holds: it starts them, stops them, and writes down how they ended. */
export class RunsInWork {
  readonly #deps: RunsInWorkDeps;
  readonly #runs = new Map<string, RunInWork>();
  #stopping = false;

  constructor(deps: RunsInWorkDeps) {
    this.#deps = deps;
  }

  get count(): number {
    return this.#runs.size;
  }

  /** Starts the processes of a run that has been admitted. */
  launch(orgId: string, run: Run, wish: { readonly root: string; readonly pipeline: Pipeline }): void {
    const { runId } = run;
    // Step by step in the order they came, and all of them before the end is written.
    let writes: Promise<void> = Promise.resolve();
    const write = (act: () => Promise<void>) => {
      writes = writes
        .then(act)
        .catch((error: unknown) => this.#deps.log("error", "not written", { runId, error }));
      return writes;
    };
    void write(async () => {
      await this.#deps.db.transaction().execute((tx) => touchRun(tx, runId));
      this.#deps.changes.tell(orgId, { kind: "run", runId });
    });
    const record = this.#deps.record(orgId, runId);
    const onStep = (step: Step, position: number) =>
      void write(async () => {
        await putStep(this.#deps.db, runId, position, step);
        this.#deps.changes.tell(orgId, { kind: "run", runId });
      });
    const job = this.#deps.launch({ runId, ...wish }, onStep, record);
    const seconds = run.timeLimitSeconds;
    const stopTimer = this.#deps.clock.after(seconds * 1000, () => {
      this.#stop(runId, { kind: "timed-out", seconds });
    });
    const inWork: RunInWork = { job, stopReason: undefined, ended: Promise.resolve() };
    inWork.ended = job.ended.then(async (end) => {
      stopTimer();
      await write(async () => {});
      await record.complete();
      await this.#writeEnd(orgId, runId, endOf(end, inWork.stopReason));
      record.end();
    });
    this.#runs.set(runId, inWork);
    this.#deps.log("info", "run started", { runId, pipeline: run.pipeline, pid: job.pid });
  }

  /** Begins to end a run. It holds its place until its processes are gone; an ended run is left as it is. */
  async cancel(orgId: string, runId: string, by: string): Promise<void> {
    if (!this.#stop(runId, { kind: "cancelled", by })) return;
    await markCancelling(this.#deps.db, runId);
    this.#deps.changes.tell(orgId, { kind: "run", runId });
  }

  /** Ends every run, as the service itself is about to end: a run outlives no service. */
  async stopAll(): Promise<void> {
    this.#stopping = true;
    const runs = [...this.#runs.entries()];
    await Promise.all(
      runs.map(([runId, inWork]) => {
        this.#stop(runId, { kind: "service-stopped" });
        return inWork.ended;
      }),
    );
  }

  /** @returns whether this was the first reason to stop the run. */
  #stop(runId: string, reason: StopReason): boolean {
    const inWork = this.#runs.get(runId);
    if (inWork === undefined || inWork.stopReason !== undefined) return false;
    inWork.stopReason = reason;
    this.#deps.log("info", "run stopping", { runId, why: reason.kind });
    inWork.job.stop();
    return true;
  }

  /** A place may not be lost because a disk was full for a while: the end is written until it is. */
  async #writeEnd(orgId: string, runId: string, end: RunEnd): Promise<void> {
    for (;;) {
      try {
        await stopRun(this.#deps.db, runId, end, this.#deps.clock.now());
        break;
      } catch (error) {
        this.#deps.log("error", "the end of a run could not be written, trying again", { runId, error });
        // A service that is to stop leaves the rest to the recovery of its next start.
        if (this.#stopping) break;
        await new Promise<void>((resolve) => void this.#deps.clock.after(writeAgainAfter, resolve));
      }
    }
    this.#runs.delete(runId);
    this.#deps.log("info", "run stopped", { runId, status: end.status });
    this.#deps.onPlaceGivenUp(orgId);
    this.#deps.changes.tell(orgId, { kind: "run", runId });
  }
}

function endOf(end: RunnerEnd, reason: StopReason | undefined): RunEnd {
  switch (end.kind) {
    case "succeeded":
      return { status: "succeeded", reason: undefined };
    case "failed":
      return { status: "failed", reason: end.message };
    case "died":
      return reason === undefined ? { status: "lost", reason: end.message } : stopped(reason);
    case "stopped":
      return reason === undefined
        ? { status: "lost", reason: "its runner was ended from outside" }
        : stopped(reason);
    default:
      return end satisfies never;
  }
}

function stopped(reason: StopReason): { status: RunStatus; reason: string } {
  switch (reason.kind) {
    case "cancelled":
      return { status: "cancelled", reason: `cancelled by ${reason.by}` };
    case "timed-out":
      return { status: "timed-out", reason: `reached its time limit of ${reason.seconds} s` };
    case "service-stopped":
      return { status: "cancelled", reason: "the service was stopped" };
    default:
      return reason satisfies never;
  }
}
