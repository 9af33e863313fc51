import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { describeError } from "../../contract/errors.ts";
import type { Clock } from "../../machine/clock.ts";
import type { Environment } from "../../project/environment.ts";
import { shortageOf } from "../../project/systemErrors.ts";
import type { ProcessTable } from "../processes/processTable.ts";
import type { RunnerIdentity } from "../processes/runCgroups.ts";
import { variablesOf, withoutWithheld } from "../step/stepEnvironment.ts";

/** The process of a runner, which waits for its one job. */
export interface RunnerProcess {
  readonly process: ChildProcessWithoutNullStreams;
  readonly exit: Promise<RunnerExit>;
  /** Never rejects; undefined where it was gone too soon to be identified. */
  readonly identity: Promise<RunnerIdentity | undefined>;
}

export type RunnerExit =
  | { readonly kind: "exited"; readonly code: number | null; readonly signal: NodeJS.Signals | null }
  | { readonly kind: "unstarted"; readonly message: string };

export interface RunnerProgram {
  /** Node, or an editor that acts as one when `ELECTRON_RUN_AS_NODE` is set. */
  readonly execPath: string;
  /** The runner's program, `main.ts` of this folder once it is built. */
  readonly runnerPath: string;
  /** The environment of the steps, and the source of `${{ env.NAME }}`, unless a start brings its own. */
  readonly env: Environment;
  readonly processes: ProcessTable;
}

/** The variables that Node.js reads only as it starts: which certificates its connections trust. */
const trusting = [
  "NODE_EXTRA_CA_CERTS",
  "NODE_TLS_REJECT_UNAUTHORIZED",
  "NODE_USE_SYSTEM_CA",
  "SSL_CERT_DIR",
  "SSL_CERT_FILE",
];

/** How long a runner is kept ready after it was last asked for, in milliseconds. */
const readyMilliseconds = 5 * 60_000;

/**
 * Keeps one runner's process started and waiting, so that a run doesn't wait until Node and the runner's program are
 * loaded. A process gets one job and ends with it: nothing of a run reaches the next. A run whose start trusts other
 * certificates gets a new one.
 */
export class ReadyRunner implements Disposable {
  readonly #program: RunnerProgram;
  readonly #clock: Clock;
  #ready: (RunnerProcess & { readonly trust: string }) | undefined;
  #cancelTimer = () => {};
  #isDisposed = false;

  constructor(program: RunnerProgram, clock: Clock) {
    this.#program = program;
    this.#clock = clock;
  }

  /**
   * Starts a process unless one waits, since a run is likely to begin soon. Unused, it is ended after five minutes.
   * @param environment see `RunnerJob`; undefined where the run isn't known yet: then any process that waits will do.
   */
  prepare(environment?: readonly string[]): void {
    if (this.#isDisposed) return;
    const env = this.#environment(environment);
    this.#cancelTimer();
    this.#cancelTimer = this.#clock.after(readyMilliseconds, () => this.#giveUp());
    if (this.#ready !== undefined && (environment === undefined || this.#ready.trust === trustOf(env)))
      return;
    this.#giveUp();
    try {
      const runner = { ...startRunner(this.#program, env), trust: trustOf(env) };
      this.#ready = runner;
      void runner.exit.then(() => {
        if (this.#ready === runner) this.#ready = undefined;
      });
    } catch {
      // Ignored: `take` throws it.
    }
  }

  /** The process that waits, or a new one. It belongs to the caller. @throws Error where none can be started. */
  take(environment?: readonly string[]): RunnerProcess {
    const env = this.#environment(environment);
    const runner = this.#ready;
    if (runner?.trust !== trustOf(env)) return startRunner(this.#program, env);
    this.#ready = undefined;
    return runner;
  }

  /**
   * The path of Node.js or of the runner's program if it no longer exists, as after an update or in a cleaned cache. No run can
   * begin then.
   */
  get removed(): string | undefined {
    const { execPath, runnerPath } = this.#program;
    return [execPath, runnerPath].find((path) => !existsSync(path));
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#cancelTimer();
    this.#giveUp();
  }

  #environment(ofStart: readonly string[] | undefined): Environment {
    const { env } = this.#program;
    if (ofStart === undefined) return env;
    const theirs = variablesOf(ofStart);
    return { ...env, ...Object.fromEntries(trusting.map((name) => [name, theirs[name]])) };
  }

  #giveUp(): void {
    this.#ready?.process.stdin.end();
    this.#ready = undefined;
  }
}

function trustOf(env: Environment): string {
  return JSON.stringify(trusting.map((name) => env[name]));
}

/** @throws Error that says why it can't be started. */
function startRunner({ execPath, runnerPath, processes }: RunnerProgram, env: Environment): RunnerProcess {
  let child: ChildProcessWithoutNullStreams;
  try {
    child = spawn(execPath, [runnerPath], {
      // The service's own folder may be gone.
      cwd: dirname(runnerPath),
      env: { ...withoutWithheld(env), ELECTRON_RUN_AS_NODE: "1" },
      stdio: ["pipe", "pipe", "pipe"],
      // A session of its own, so that Ctrl+C at the service's terminal doesn't reach it. On Windows it would open a window.
      detached: process.platform !== "win32",
      windowsHide: true,
    });
  } catch (error) {
    throw startProblem(error);
  }
  const exit = exitOf(child);
  // Node leaves the pipes out when no file descriptors are left.
  if (!(child.stdin && child.stdout && child.stderr)) throw startProblem(undefined);
  child.stdin.on("error", () => {});
  const identity = identityOf(child, processes).catch(() => undefined);
  void removeCgroup(exit, identity, processes);
  return { process: child, exit, identity };
}

/** An undefined error stands for missing pipes: no file descriptors were left. */
function startProblem(error: unknown): Error {
  const why = error === undefined ? "too many files are open in one program" : whyRefused(error);
  return new Error(`the runner can't be started: ${why}`, { cause: error });
}

function whyRefused(error: unknown): string {
  return shortageOf(error)?.why ?? describeError(error);
}

async function identityOf(child: ChildProcess, processes: ProcessTable): Promise<RunnerIdentity | undefined> {
  const { pid } = child;
  if (pid === undefined) return undefined;
  const birth = await processes.birthOf(pid);
  // After its exit, another process may have the id.
  if (birth === undefined || child.exitCode !== null || child.signalCode !== null) return undefined;
  return { pid, birth };
}

/** Removes the runner's cgroup when it has exited, unless it left processes: the run's end waits for those. */
async function removeCgroup(
  exit: Promise<RunnerExit>,
  identity: Promise<RunnerIdentity | undefined>,
  { cgroups }: ProcessTable,
): Promise<void> {
  const runner = await identity;
  const folder = runner && cgroups?.folderOf(runner);
  await exit;
  if (folder !== undefined) cgroups?.removeEmpty(folder);
}

function exitOf(child: ChildProcess): Promise<RunnerExit> {
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve({ kind: "exited", code, signal }));
    child.on("error", (error) => {
      // For a running process the error only says that it couldn't be signalled.
      if (child.pid === undefined) resolve({ kind: "unstarted", message: whyRefused(error) });
    });
  });
}
