import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";

/** A process of the benchmark, which answers each message with one of its own. */
export class BenchProcess {
  readonly #child: ChildProcess;

  /** @param program a file of this folder. @param log a file that takes what it says on standard error. */
  constructor(program: string, args: readonly string[] = [], log?: string) {
    const standardError = log === undefined ? "inherit" : openSync(log, "a", 0o600);
    this.#child = fork(join(import.meta.dirname, program), args, {
      execArgv: ["--expose-gc"],
      stdio: ["ignore", "ignore", standardError, "ipc"],
    });
    if (typeof standardError === "number") closeSync(standardError);
  }

  /** The next message. @throws Error when the process ends before, or the signal's reason. */
  async next<Answer>(signal: AbortSignal): Promise<Answer> {
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    try {
      return await Promise.race([
        once(this.#child, "message", { signal: either }).then(([answer]): Answer => answer),
        once(this.#child, "exit", { signal: either }).then(([code]) => {
          throw new Error(`${this.#child.spawnargs.at(-1)} ended with ${code}`);
        }),
      ]);
    } finally {
      over.abort();
    }
  }

  ask<Answer>(message: object, signal: AbortSignal): Promise<Answer> {
    const answer = this.next<Answer>(signal);
    this.#child.send(message);
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    // Nothing of what it holds is kept, and its runs have no processes.
    this.#child.kill("SIGKILL");
    await exited;
  }
}
