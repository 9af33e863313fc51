import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

const toolPath = join(import.meta.dirname, "../../../dist/cli.js");

/** A server or a runner, as a team would start it. It comes back by itself when it was killed. */
export class MachineProgram implements AsyncDisposable {
  /** Where it serves; undefined for a runner, and while it isn't ready. */
  url: string | undefined;
  readonly #words: readonly string[];
  readonly #environment: NodeJS.ProcessEnv;
  #process: ChildProcess | undefined;
  #ready: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor(words: readonly string[], environment: NodeJS.ProcessEnv) {
    this.#words = words;
    this.#environment = environment;
    this.#run();
  }

  /** Resolves once it runs, however often it had to be started. */
  get ready(): Promise<void> {
    return this.#ready;
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    const process = this.#process;
    if (process === undefined || process.exitCode !== null || process.signalCode !== null) return;
    const exited = once(process, "exit");
    process.kill("SIGCONT");
    process.kill("SIGTERM");
    const timer = setTimeout(() => process.kill("SIGKILL"), 20_000);
    await exited;
    clearTimeout(timer);
  }

  #run(): void {
    const child = spawn(process.execPath, [toolPath, ...this.#words, "--json"], {
      env: this.#environment,
      stdio: ["ignore", "pipe", "ignore"],
    });
    this.#process = child;
    this.#ready = new Promise((resolve) => {
      createInterface({ input: child.stdout }).once("line", (line) => {
        const { url } = JSON.parse(line);
        this.url = typeof url === "string" ? url : undefined;
        resolve();
      });
      // As an orchestrator does it, also while the database is away.
      child.once("exit", () => {
        this.url = undefined;
        if (!this.#isOver) setTimeout(() => this.#isOver || this.#run(), 300);
        resolve();
      });
    });
  }
}
