import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import type { Readable, Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import type { Environment } from "../../client/environment.ts";
import { describeError } from "../../contract/errors.ts";
import type { RunStep } from "../../contract/run.ts";
import type { Pipeline } from "../../pipeline/pipeline.ts";
import { OutputTail } from "./outputTail.ts";
import { endProcesses } from "./processes/endProcesses.ts";
import type { ProcessTable } from "./processes/processTable.ts";
import { newTraces, type RunnerIdentity, type RunTraces } from "./processes/processTable.ts";
import {
  type Job,
  type Message,
  messageSchema,
  readLines,
  type SavedArtifact,
  type StepOutput,
} from "./protocol.ts";
import { removeScratch } from "./scratchFolder.ts";
import { stepEnvironment, withPath } from "./stepEnvironment.ts";

export type { RunnerIdentity };

export interface RunnerJob {
  readonly runId: string;
  /** The project's folder, absolute. */
  readonly root: string;
  readonly pipeline: Pipeline;
  /** The PATH of who started the run; without it the service's own is used. */
  readonly path?: string;
  /** Where the steps' artifacts are saved, absolute. */
  readonly artifactsFolder: string;
}

export interface LaunchDeps {
  /** Node, or an editor that acts as one when `ELECTRON_RUN_AS_NODE` is set. */
  readonly execPath: string;
  /** The runner's program, `main.ts` of this folder once it is built. */
  readonly runnerPath: string;
  /** The base of the steps' environment, and the source of `${{ env.NAME }}`. */
  readonly env: Environment;
  /** From SIGTERM to SIGKILL. */
  readonly graceMilliseconds: number;
  readonly processes: ProcessTable;
  /** As `endProcesses` takes it. */
  readonly listingPatienceMilliseconds?: number;
  readonly now: () => Date;
  /** Called when a step starts and when it stops; `index` counts the pipeline's steps from 0. */
  readonly onStep: (step: RunStep, index: number) => void;
  readonly onOutput: (output: StepOutput) => void;
  readonly onArtifact: (artifact: SavedArtifact) => void;
}

/** How a run ended. The first reason wins: a stopped run neither fails nor succeeds. */
export type RunnerEnd =
  | { readonly kind: "succeeded" }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "stopped" }
  /** The runner crashed or was killed; `message` says what is known. */
  | { readonly kind: "died"; readonly message: string };

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
  /** Ends the run's processes: SIGTERM, the grace time, SIGKILL. Further calls do nothing. */
  stop(): void;
}

/** How much longer than the grace time a runner may take to end its run before the service does it. */
const patienceMilliseconds = 2000;
/** How long to wait for the rest of a runner's output after its exit. */
const finalOutputMilliseconds = 1000;

/**
 * Runs a pipeline in a process of its own and supervises it. Never throws: if the runner can't be started, the run
 * ends as `died`.
 */
export function launchRunner(job: RunnerJob, deps: LaunchDeps): RunningJob {
  const child = startChild(job, deps);
  return child.kind === "started" ? new Launch(job, deps, child.child) : deadJob(child.message);
}

/** The runner's process with its pipes. Node leaves them out when no file descriptors are left. */
interface Child {
  readonly process: ChildProcess;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

type Start =
  | { readonly kind: "started"; readonly child: Child }
  | { readonly kind: "unstarted"; readonly message: string };

function startChild({ runId, path }: RunnerJob, deps: LaunchDeps): Start {
  let child: ChildProcess;
  try {
    child = spawn(deps.execPath, [deps.runnerPath, runId], {
      // The project's folder and the service's own may be gone.
      cwd: dirname(deps.runnerPath),
      env: { ...stepEnvironment(withPath(deps.env, path), runId), ELECTRON_RUN_AS_NODE: "1" },
      stdio: ["pipe", "pipe", "pipe"],
      // A session of its own, so that Ctrl+C at the service's terminal doesn't reach it. On Windows it would open a window.
      detached: process.platform !== "win32",
      windowsHide: true,
    });
  } catch (error) {
    return { kind: "unstarted", message: describeStartProblem(error) };
  }
  const { stdin, stdout, stderr } = child;
  if (stdin && stdout && stderr) return { kind: "started", child: { process: child, stdin, stdout, stderr } };
  // The `error` event follows, and without a listener would end the service.
  child.on("error", () => {});
  return { kind: "unstarted", message: describeStartProblem(undefined) };
}

/** An undefined error stands for missing pipes: no file descriptors were left. */
function describeStartProblem(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (error === undefined || code === "EMFILE" || code === "ENFILE") {
    return "the runner can't be started: too many files are open on this machine";
  }
  return `the runner can't be started: ${describeError(error)}`;
}

function deadJob(message: string): RunningJob {
  return {
    pid: undefined,
    identity: Promise.resolve(undefined),
    ended: Promise.resolve({ kind: "died", message }),
    stop: () => {},
  };
}

class Launch implements RunningJob {
  readonly identity: Promise<RunnerIdentity | undefined>;
  readonly ended: Promise<RunnerEnd>;
  readonly #job: RunnerJob;
  readonly #deps: LaunchDeps;
  readonly #child: Child;
  readonly #errors = new OutputTail();
  readonly #traces: RunTraces;
  readonly #running = new Map<number, string>();
  readonly #gone = new AbortController();
  #end: RunnerEnd | undefined;

  constructor(job: RunnerJob, deps: LaunchDeps, child: Child) {
    this.#job = job;
    this.#deps = deps;
    this.#child = child;
    const cgroup = this.pid === undefined ? undefined : deps.processes.cgroups?.make(job.runId);
    this.#traces = newTraces(job.runId, this.pid, cgroup);
    // It leads a session, see `startChild`.
    if (this.pid !== undefined) this.#traces.groups.add(this.pid);
    this.identity = this.#identify().catch(() => undefined);
    this.ended = this.#watch().catch((error: unknown) => ({
      kind: "died",
      message: `the run can't be watched: ${describeError(error)}`,
    }));
    child.stdin.on("error", () => {});
    const message: Job = {
      ...job,
      pipeline: structuredClone(job.pipeline),
      graceMilliseconds: deps.graceMilliseconds,
      ...(cgroup === undefined ? {} : { cgroup }),
    };
    child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  get pid(): number | undefined {
    return this.#child.process.pid;
  }

  stop(): void {
    if (this.#end === undefined) this.#end = { kind: "stopped" };
    this.#child.stdin.end();
    // A suspended process would not notice.
    if (this.#deps.processes.canTerminate) this.#child.process.kill("SIGCONT");
    void this.#endStuckRunner();
  }

  async #identify(): Promise<RunnerIdentity | undefined> {
    const { pid } = this;
    if (pid === undefined) return undefined;
    const birth = await this.#deps.processes.birthOf(pid);
    // After its exit, another process may have the id.
    if (birth === undefined || this.#gone.signal.aborted) return undefined;
    this.#traces.seen.set(pid, birth);
    return { pid, birth };
  }

  async #watch(): Promise<RunnerEnd> {
    const child = this.#child;
    const closed = once(child.process, "close").catch(() => {});
    child.stderr.setEncoding("utf8").on("data", (piece: string) => this.#errors.add(piece));
    readLines(child.stdout, (line) => this.#read(line));
    const exit = await exitOf(child.process);
    this.#gone.abort();
    // The last messages, with the run's process groups, may still be in the pipe.
    await Promise.race([closed, pause(finalOutputMilliseconds, undefined, { ref: false })]);
    const problem = await this.#endAll(this.#deps.graceMilliseconds);
    const { cgroup } = this.#traces;
    if (cgroup !== undefined) await this.#deps.processes.cgroups?.remove(cgroup);
    if (exit.kind === "exited") await closed;
    await removeScratch(this.#job.runId);
    const end = problem ?? this.#end ?? { kind: "died", message: this.#describeDeath(exit) };
    this.#stopRunningSteps(end);
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
      case "step-started":
        this.#running.set(message.index, message.at);
        this.#emitStep(message.index, { status: "running", startedAt: message.at });
        return;
      case "step-stopped": {
        const startedAt = this.#running.get(message.index);
        this.#running.delete(message.index);
        this.#emitStep(message.index, {
          status: message.status,
          ...(startedAt === undefined ? {} : { startedAt }),
          stoppedAt: message.at,
          ...(message.message === undefined ? {} : { message: message.message }),
        });
        return;
      }
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

  #emitStep(index: number, change: Omit<RunStep, "name" | "type">): void {
    const step = this.#job.pipeline.steps[index];
    if (step !== undefined) this.#deps.onStep({ name: step.name, type: step.type, ...change }, index);
  }

  #stopRunningSteps(end: RunnerEnd): void {
    const stoppedAt = this.#deps.now().toISOString();
    const status = end.kind === "died" ? "lost" : "stopped";
    for (const [index, startedAt] of this.#running) this.#emitStep(index, { status, startedAt, stoppedAt });
    this.#running.clear();
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
      this.#child.process.kill("SIGKILL");
      return { kind: "died", message: `the run's processes can't be listed: ${describeError(error)}` };
    }
  }

  #describeDeath(exit: Exit): string {
    switch (exit.kind) {
      case "unstarted":
        return `the runner can't be started: ${exit.message}`;
      case "exited": {
        const error = lastError(this.#errors.text());
        const how = exit.signal === null ? `exited with ${exit.code}` : `was ended by ${exit.signal}`;
        return `the runner ${how} before the run was over${error === "" ? "" : `: ${error}`}`;
      }
      default:
        return exit satisfies never;
    }
  }
}

type Exit =
  | { readonly kind: "exited"; readonly code: number | null; readonly signal: NodeJS.Signals | null }
  | { readonly kind: "unstarted"; readonly message: string };

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve({ kind: "exited", code, signal }));
    child.on("error", (error) => {
      // For a running process the error only says that it couldn't be signalled.
      if (child.pid === undefined) resolve({ kind: "unstarted", message: error.message });
    });
  });
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
