import { type ChildProcessByStdio, spawn } from "node:child_process";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";

/** Enough of the output to explain a failure, however long the program runs. */
const keptCharacters = 64 * 1024;

interface LeashedOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** A program whose whole process tree ends when this object is disposed or this process dies, however it dies. */
export class Leashed implements AsyncDisposable {
  /** The exit code, once the program and all its descendants are gone. It never rejects. */
  readonly exited: Promise<number>;
  readonly #leash: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #listeners = new Set<() => void>();
  #output = "";
  #hasExited = false;

  constructor(command: string, commandArguments: readonly string[], options: LeashedOptions = {}) {
    this.#leash = spawn(
      process.execPath,
      [join(import.meta.dirname, "leash.ts"), command, ...commandArguments],
      {
        ...options,
        stdio: ["pipe", "pipe", "pipe"],
        detached: process.platform !== "win32", // out of reach of the terminal's Ctrl-C
        windowsHide: true,
      },
    );
    this.#leash.stdin.on("error", () => {}); // the leash may be gone already
    for (const stream of [this.#leash.stdout, this.#leash.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => this.#take(text));
    }
    const { promise, resolve } = Promise.withResolvers<number>();
    const left = (code: number) => {
      this.#hasExited = true;
      this.#tell();
      resolve(code);
    };
    this.#leash.once("close", (code) => left(code ?? 1));
    this.#leash.once("error", (error) => {
      this.#take(`${error.message}\n`);
      left(1);
    });
    this.exited = promise;
  }

  /** The end of what the program wrote on both its outputs, without colours. */
  get output(): string {
    return stripVTControlCharacters(this.#output);
  }

  /**
   * Waits for the output to match.
   * @returns undefined when the program exits first.
   * @throws the signal's reason when it is aborted.
   */
  async outputMatching(pattern: RegExp, signal: AbortSignal): Promise<RegExpExecArray | undefined> {
    while (true) {
      signal.throwIfAborted();
      const match = pattern.exec(this.output);
      if (match !== null) return match;
      if (this.#hasExited) return undefined;
      await this.#news(signal);
    }
  }

  async stop(): Promise<void> {
    this.#leash.stdin.end();
    await this.exited;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #take(text: string): void {
    this.#output = (this.#output + text).slice(-keptCharacters);
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  #news(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const heard = () => resolve();
    this.#listeners.add(heard);
    signal.addEventListener("abort", heard, { once: true });
    return promise.finally(() => {
      this.#listeners.delete(heard);
      signal.removeEventListener("abort", heard);
    });
  }
}

interface Finished {
  readonly exitCode: number;
  readonly output: string;
}

/**
 * Runs a program to its end.
 * @throws the signal's reason when it is aborted, after the program's tree is gone.
 */
export async function runLeashed(
  command: string,
  commandArguments: readonly string[],
  options: LeashedOptions,
  signal: AbortSignal,
): Promise<Finished> {
  signal.throwIfAborted();
  await using program = new Leashed(command, commandArguments, options);
  const stop = () => void program.stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    const exitCode = await program.exited;
    signal.throwIfAborted();
    return { exitCode, output: program.output };
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
