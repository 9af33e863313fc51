import { once } from "node:events";
import { aborted, stripVTControlCharacters } from "node:util";
import { execa } from "execa";

/** Enough of the output to explain a failure, however long the program runs. */
const keptCharacters = 64 * 1024;

interface Setting {
  readonly cwd?: string;
  /** All of its environment; this process's when left out. */
  readonly env?: NodeJS.ProcessEnv;
  /** The user and group that it runs as; this process's when left out. */
  readonly uid?: number;
  readonly gid?: number;
}

/** A program that runs beside this one. It ends with its descendants when it is disposed of, or this process exits. */
export class Program implements AsyncDisposable {
  /** The exit code, once the program is gone. It never rejects. */
  readonly exited: Promise<number>;
  readonly #process: ReturnType<typeof begin>;
  readonly #changes = new EventTarget();
  #output = "";
  #isGone = false;

  constructor(command: string, words: readonly string[], setting: Setting = {}) {
    this.#process = begin(command, words, setting);
    this.#process.all.setEncoding("utf8").on("data", (text: string) => this.#add(text));
    this.exited = this.#process.then(({ exitCode, shortMessage }) => {
      this.#isGone = true;
      this.#add(exitCode === undefined ? `${shortMessage}\n` : "");
      return exitCode ?? 1;
    });
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
      if (this.#isGone) return undefined;
      await once(this.#changes, "change", { signal }).catch(() => signal.throwIfAborted());
    }
  }

  async stop(): Promise<void> {
    this.#process.kill();
    await this.exited;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #add(text: string): void {
    this.#output = (this.#output + text).slice(-keptCharacters);
    this.#changes.dispatchEvent(new Event("change"));
  }
}

/**
 * Runs a program to its end.
 * @throws the signal's reason when it is aborted, after the program and its descendants are gone.
 */
export async function runProgram(
  command: string,
  words: readonly string[],
  setting: Setting,
  signal: AbortSignal,
): Promise<{ readonly exitCode: number; readonly output: string }> {
  signal.throwIfAborted();
  await using program = new Program(command, words, setting);
  await Promise.race([program.exited, aborted(signal, program)]);
  signal.throwIfAborted();
  return { exitCode: await program.exited, output: program.output };
}

function begin(
  command: string,
  words: readonly string[],
  { cwd = process.cwd(), env = process.env, ...identity }: Setting,
) {
  return execa(command, words, {
    cwd,
    env,
    ...identity,
    extendEnv: false,
    all: true,
    stdin: "ignore",
    buffer: false,
    reject: false,
    killDescendants: true,
    forceKillAfterDelay: 5000,
  });
}
