import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { clockIn } from "../../clock/preload.ts";
import { toolPath } from "../../service/programs.ts";

/** A server or a runner, as a team would start it, on a machine with a clock of its own. It is restarted whenever it exits. */
export class MachineProgram {
  /** Where it serves; undefined for a runner, and while it isn't ready. */
  url: string | undefined;
  readonly #words: readonly string[];
  readonly #environment: NodeJS.ProcessEnv;
  readonly #files: string;
  #process: ChildProcess;
  #ready = Promise.withResolvers<void>();
  #isOver = false;

  /**
   * @param files the beginning of the names of its files: how far its clock is off, and what it logs.
   * @param hours how far its clock is off at first.
   */
  constructor(words: readonly string[], environment: NodeJS.ProcessEnv, files: string, hours: number) {
    this.#words = words;
    this.#files = files;
    this.#environment = { ...environment, ...clockIn(`${files}.clock`) };
    this.setClock(hours);
    this.#process = this.#run();
  }

  /** Resolves once it is ready, however often it is restarted until then. */
  async ready(): Promise<void> {
    await this.#ready.promise;
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Sets its clock, so many hours off. */
  setClock(hours: number): void {
    writeFileSync(`${this.#files}.clock`, String(hours * 3_600_000));
  }

  /** Ends it in order. @returns whether another one has taken its place, or it doesn't end in time. */
  async upgrade(withinMilliseconds: number): Promise<boolean> {
    if (!(await this.#end(withinMilliseconds))) return false;
    await this.ready();
    return true;
  }

  /** Shuts it down for good, by SIGKILL if it takes too long. @returns whether it ended by itself. */
  async close(withinMilliseconds: number): Promise<boolean> {
    this.#isOver = true;
    this.signal("SIGCONT");
    const hasEnded = await this.#end(withinMilliseconds);
    this.signal("SIGKILL");
    return hasEnded;
  }

  async #end(withinMilliseconds: number): Promise<boolean> {
    const process = this.#process;
    if (process.exitCode !== null || process.signalCode !== null) return true;
    const exited = once(process, "exit").then(() => true);
    process.kill("SIGTERM");
    return Promise.race([exited, pause(withinMilliseconds, false, { ref: false })]);
  }

  #run(): ChildProcess {
    const child = spawn(process.execPath, [toolPath, ...this.#words, "--json"], {
      env: this.#environment,
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stderr.pipe(createWriteStream(`${this.#files}.log`, { flags: "a" }));
    createInterface({ input: child.stdout }).once("line", (line) => {
      const { url } = JSON.parse(line);
      this.url = typeof url === "string" ? url : undefined;
      this.#ready.resolve();
    });
    child.once("exit", () => {
      this.url = undefined;
      const before = this.#ready;
      this.#ready = Promise.withResolvers();
      // If it ends before it is ready, the wait goes on for its successor.
      this.#ready.promise.then(before.resolve);
      // As an orchestrator does it, also while the database is away.
      setTimeout(() => {
        if (!this.#isOver) this.#process = this.#run();
      }, 300);
    });
    return child;
  }
}
