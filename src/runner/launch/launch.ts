import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { describeError } from "../../contract/errors.ts";
import type { RunStep } from "../../contract/run.ts";
import type { RunnerEnd } from "../../contract/runners.ts";
import { OutputTail } from "../output/readableText.ts";
import { endProcesses } from "../processes/endProcesses.ts";
import { newTraces, type ProcessTable, type RunTraces } from "../processes/processTable.ts";
import type { RunnerIdentity } from "../processes/runCgroups.ts";
import { removeScratch } from "../processes/scratchFolder.ts";
import {
  type Message,
  messageSchema,
  type RunValues,
  type SavedArtifact,
  type StepOutput,
} from "./messages.ts";
import {
  type CleanupOrder,
  type Job,
  type LifeSign,
  machineMilliseconds,
  type RunnerJob,
  readLines,
} from "./protocol.ts";
import type { ReadyRunner, RunnerExit, RunnerProcess } from "./readyRunner.ts";

export type LaunchedStep = RunStep & {
  readonly status: "running" | "succeeded" | "failed" | "stopped" | "lost" | "skipped" | "not-reached";
};

export interface LaunchDeps {
  readonly runners: Pick<ReadyRunner, "take">;
  /** From SIGTERM to SIGKILL. */
  readonly graceMilliseconds: number;
  readonly processes: ProcessTable;
  /** As `endProcesses` takes it. */
  readonly listingPatienceMilliseconds?: number;
  readonly now: () => Date;
  /** Called when a step starts and when it stops; `index` counts the pipeline's steps from 0. */
  readonly onStep: (step: LaunchedStep, index: number) => void;
  readonly onOutput: (output: StepOutput) => void;
  readonly onArtifact: (artifact: SavedArtifact) => void;
  /** Called with the pipeline file and the inputs before the first step, and with any outputs once the run has succeeded. */
  readonly onValues: (values: RunValues) => void;
}

export interface RunningJob {
  /** The runner's process; undefined when it couldn't be started. */
  readonly pid: number | undefined;
  /**
   * Stored for `endLeftovers`, in case this service ends before the run. Never rejects; undefined when there was no
   * runner, or it was gone too soon to be identified.
   */
  readonly identity: Promise<RunnerIdentity | undefined>;
  /** Never rejects, and resolves only when no process of the run is left. */
  readonly ended: Promise<RunnerEnd>;
  /**
   * Ends the run's processes: SIGTERM, the grace time, SIGKILL.
   * @param cleanUpMilliseconds ends only its steps, and lets it clean up for so long; another call without it ends that too.
   */
  stop(cleanUpMilliseconds?: number): void;
}

export interface LaunchedRun extends RunningJob {
  /** Tells the run's process that it may live longer, see `RunnerJob.livesUntil`. */
  live(livesUntil: number): void;
}

/** How much longer than the grace time a runner may take to end its run before the service does it. */
const patienceMilliseconds = 2000;
/** How long to wait for the rest of a runner's output after its exit. */
const finalOutputMilliseconds = 1000;

/**
 * Runs a pipeline in a process of its own and supervises it. Never throws: if the runner can't be started, the run
 * ends as `died`.
 */
export function launchRunner(job: RunnerJob, deps: LaunchDeps): LaunchedRun {
  let runner: RunnerProcess;
  try {
    runner = deps.runners.take(job.environment);
  } catch (error) {
    return {
      pid: undefined,
      identity: Promise.resolve(undefined),
      ended: Promise.resolve({ kind: "died", message: describeError(error) }),
      stop: () => {},
      live: () => {},
    };
  }
  return new Launch(job, deps, runner);
}

class Launch implements LaunchedRun {
  readonly ended: Promise<RunnerEnd>;
  readonly #job: RunnerJob;
  readonly #deps: LaunchDeps;
  readonly #runner: RunnerProcess;
  readonly #errors = new OutputTail();
  readonly #traces: RunTraces;
  /** When each running step started, by its index. */
  readonly #running = new Map<number, string | undefined>();
  /** The steps that were reported. */
  readonly #reached = new Set<number>();
  readonly #gone = new AbortController();
  #end: RunnerEnd | undefined;

  constructor(job: RunnerJob, deps: LaunchDeps, runner: RunnerProcess) {
    this.#job = job;
    this.#deps = deps;
    this.#runner = runner;
    this.#traces = newTraces(job.runId, this.pid);
    // It leads a session, see `startRunner`.
    if (this.pid !== undefined) this.#traces.groups.add(this.pid);
    void runner.identity.then((identity) => {
      if (identity === undefined) return;
      this.#traces.seen.set(identity.pid, identity.birth);
      this.#traces.runnerBirth = identity.birth;
      this.#traces.cgroup = deps.processes.cgroups?.folderOf(identity);
    });
    this.ended = this.#watch().catch((error: unknown) => ({
      kind: "died",
      message: `the run can't be watched: ${describeError(error)}`,
    }));
    const message: Job = {
      ...job,
      graceMilliseconds: deps.graceMilliseconds,
    };
    runner.process.stdin.write(`${JSON.stringify(message)}\n`);
  }

  get pid(): number | undefined {
    return this.#runner.process.pid;
  }

  get identity(): Promise<RunnerIdentity | undefined> {
    return this.#runner.identity;
  }

  stop(cleanUpMilliseconds?: number): void {
    this.#end ??= { kind: "stopped" };
    // A suspended process would not notice.
    if (this.#deps.processes.canTerminate) this.#runner.process.kill("SIGCONT");
    if (cleanUpMilliseconds !== undefined) {
      this.#tell({ cleanUpUntil: machineMilliseconds() + cleanUpMilliseconds });
      return;
    }
    this.#runner.process.stdin.end();
    void this.#endStuckRunner();
  }

  live(livesUntil: number): void {
    this.#tell({ livesUntil });
  }

  #tell(line: LifeSign | CleanupOrder): void {
    const { stdin } = this.#runner.process;
    if (stdin.writable) stdin.write(`${JSON.stringify(line)}\n`);
  }

  async #watch(): Promise<RunnerEnd> {
    const { process: runner, exit: exiting } = this.#runner;
    const closed = once(runner, "close").catch(() => {});
    runner.stderr.setEncoding("utf8").on("data", (piece: string) => this.#errors.add(piece));
    readLines(runner.stdout, (line) => this.#read(line));
    const exit = await exiting;
    this.#gone.abort();
    // The last messages, with the run's process groups, may still be in the pipe.
    await Promise.race([closed, pause(finalOutputMilliseconds, undefined, { ref: false })]);
    const problem = await this.#endAll(this.#deps.graceMilliseconds);
    const { cgroup } = this.#traces;
    if (cgroup !== undefined) await this.#deps.processes.cgroups?.remove(cgroup);
    if (exit.kind === "exited") await closed;
    await removeScratch(this.#job.runId);
    const end = problem ?? this.#end ?? { kind: "died", message: this.#describeDeath(exit) };
    this.#endSteps(end);
    return end;
  }

  #read(line: string): void {
    const message = readMessage(line);
    if (message === undefined) {
      this.#end ??= { kind: "died", message: "the runner sent something that can't be read" };
      this.stop();
      return;
    }
    switch (message.kind) {
      case "spawned":
        this.#traces.groups.add(message.pid);
        return;
      case "vacated":
        this.#traces.groups.delete(message.pid);
        return;
      case "step": {
        const { kind: _, index, ...change } = message;
        this.#emitStep(index, change);
        return;
      }
      case "inputs":
      case "pipeline":
        this.#deps.onValues(message);
        return;
      case "outputs":
        // Dropped for a run that was stopped during its cleanup.
        if (this.#end === undefined) this.#deps.onValues(message);
        return;
      case "output":
        this.#deps.onOutput(message);
        return;
      case "artifact":
        this.#deps.onArtifact(message);
        return;
      case "finished":
        this.#end ??=
          message.outcome === "succeeded"
            ? { kind: "succeeded" }
            : { kind: "failed", message: message.message ?? "a step failed" };
        return;
      default:
        message satisfies never;
    }
  }

  #emitStep(index: number, change: Omit<LaunchedStep, "name" | "type">): void {
    this.#reached.add(index);
    if (change.status === "running") this.#running.set(index, change.startedAt);
    else this.#running.delete(index);
    const step = this.#job.pipeline.steps[index];
    if (step === undefined) return;
    const { name, type, isCleanup } = step;
    // First reports the steps that weren't reached, so that each reported step is at its own index.
    if (isCleanup) this.#leaveOut(false);
    this.#deps.onStep({ name, type, ...(isCleanup && { cleanup: isCleanup }), ...change }, index);
  }

  /** Reports how the remaining steps ended. For a run that died, it isn't known which it would have reached. */
  #endSteps(end: RunnerEnd): void {
    const stoppedAt = this.#deps.now().toISOString();
    const status = end.kind === "died" ? "lost" : "stopped";
    for (const [index, startedAt] of this.#running) this.#emitStep(index, { status, startedAt, stoppedAt });
    if (end.kind === "died") return;
    this.#leaveOut(true);
  }

  /** Reports each step that wasn't reported yet as not reached; those that clean up only once the run is over. */
  #leaveOut(isOver: boolean): void {
    for (const [index, { isCleanup }] of this.#job.pipeline.steps.entries())
      if (!this.#reached.has(index) && (isOver || !isCleanup))
        this.#emitStep(index, { status: "not-reached" });
  }

  /**
   * A runner ends its run within the grace time once its pipe closes. If it hangs, it and its processes are killed: a
   * second grace time would hold the slot for as long again.
   */
  async #endStuckRunner(): Promise<void> {
    const patience = this.#deps.graceMilliseconds + patienceMilliseconds;
    try {
      await pause(patience, undefined, { signal: this.#gone.signal });
    } catch {
      return;
    }
    await this.#endAll(0);
  }

  /** @returns an end only if the run's processes could not be listed. */
  async #endAll(graceMilliseconds: number): Promise<RunnerEnd | undefined> {
    const { processes, listingPatienceMilliseconds } = this.#deps;
    try {
      await endProcesses({ processes, run: this.#traces, graceMilliseconds, listingPatienceMilliseconds });
      return undefined;
    } catch (error) {
      this.#runner.process.kill("SIGKILL");
      return { kind: "died", message: `the run's processes can't be listed: ${describeError(error)}` };
    }
  }

  #describeDeath(exit: RunnerExit): string {
    if (exit.kind === "unstarted") return `the runner can't be started: ${exit.message}`;
    const error = lastError(this.#errors.text());
    const how = exit.signal === null ? `exited with ${exit.code}` : `was ended by ${exit.signal}`;
    return `the runner ${how} before the run was over${error === "" ? "" : `: ${error}`}`;
  }
}

/** The line with the message of an uncaught error, without the code around it. */
function lastError(text: string): string {
  const lines = text.split("\n");
  return lines.findLast((line) => /^[\w$]*Error\b/.test(line)) ?? lines.at(-1) ?? "";
}

function readMessage(line: string): Message | undefined {
  try {
    return messageSchema.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}
