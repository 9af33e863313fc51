import type { spawn } from "node:child_process";
import { stat } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import type { Clock } from "../clock.ts";
import { foreignText } from "../http/foreignText.ts";
import type { Environment } from "../starterEnvironment.ts";
import type { Kept } from "./login.ts";
import { runProgram } from "./runProgram.ts";

/** Where the system keeps secrets, reached by a program that comes with it: no native module is needed. */
export interface Keychain {
  /** As a person knows it, to stand after “in”. */
  readonly name: string;
  /**
   * Keeps a key under a name, in place of the one that was there, and looks whether it can be had again.
   * @throws KeychainFault when it can't.
   */
  keep(account: string, apiKey: string, signal: AbortSignal): Promise<Kept>;
  /** @returns undefined when it has none of that name. @throws KeychainFault */
  find(account: string, kept: Kept, signal: AbortSignal): Promise<string | undefined>;
  /** Forgets the key; none of that name is as good. @throws KeychainFault */
  forget(account: string, signal: AbortSignal): Promise<void>;
}

/** Why a keychain did not do what was asked: one sentence without the key. */
export class KeychainFault extends Error {
  override readonly name = "KeychainFault";
}

export interface KeychainDeps {
  readonly env: Environment;
  readonly spawn: typeof spawn;
  readonly clock: Clock;
}

interface ProgramAnswer {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface KeychainCall {
  readonly args: readonly string[];
  readonly input?: string;
}

/** The program behind a keychain. */
export class KeychainProgram {
  readonly #name: string;
  readonly #seconds: number;
  readonly #deps: KeychainDeps;

  /** @param seconds how long it may take: someone may have to unlock the keychain first. */
  constructor(name: string, seconds: number, deps: KeychainDeps) {
    this.#name = name;
    this.#seconds = seconds;
    this.#deps = deps;
  }

  /** Runs it to its end. @throws KeychainFault when it is not there or gives no answer; the signal's reason. */
  async ask({ args, input = "" }: KeychainCall, signal: AbortSignal): Promise<ProgramAnswer> {
    const { env: all, spawn, clock } = this.#deps;
    const path = await programOnPath(this.#name, all);
    if (path === undefined) throw new KeychainFault(`${this.#name} is not on the PATH.`);
    // The key of another service is none of its business.
    const { PIPELINE_API_KEY: _, ...env } = all;
    const ended = await runProgram({ path, args, input, env, spawn, clock, seconds: this.#seconds }, signal);
    if (ended.kind === "failed") throw new KeychainFault(`${this.#name}: ${ended.why}.`);
    return ended;
  }

  /** The fault that an answer stands for, in the program's own words. @param secret what they may not repeat. */
  fault({ exitCode, stderr }: ProgramAnswer, secret = ""): KeychainFault {
    const said = foreignText(stderr, secret).replace(new RegExp(`^${this.#name}: `), "");
    const words = said === "" ? `it ended with exit code ${exitCode}` : said;
    return new KeychainFault(`${this.#name}: ${words}${/[.!?…]$/.test(words) ? "" : "."}`);
  }
}

/** A program by the PATH's absolute folders only: a relative one is whatever lies where someone happens to work. */
async function programOnPath(name: string, env: Environment): Promise<string | undefined> {
  const path = Object.entries(env).find(([key]) => key.toUpperCase() === "PATH")?.[1] ?? "";
  for (const folder of path.split(delimiter).filter((each) => isAbsolute(each))) {
    const candidate = join(folder, name);
    const facts = await stat(candidate).catch(() => undefined);
    if (facts?.isFile()) return candidate;
  }
  return undefined;
}
