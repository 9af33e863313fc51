import { spawn } from "node:child_process";
import { PipelineError } from "../../contract/errors.ts";
import { type Clock, systemClock } from "../clock.ts";
import type { Environment } from "../starterEnvironment.ts";
import { configFolder } from "./configFolder.ts";
import { type Keychain, type KeychainDeps, KeychainFault } from "./keychain.ts";
import type { Kept, Login } from "./login.ts";
import { loginCommand } from "./loginCommand.ts";
import { LoginFiles } from "./loginFiles.ts";
import { macKeychain } from "./macKeychain.ts";
import { secretService } from "./secretService.ts";
import { windowsSeal } from "./windowsSeal.ts";

export interface LoginsDeps {
  readonly env: Environment;
  readonly platform?: NodeJS.Platform;
  readonly spawn?: typeof spawn;
  readonly clock?: Clock;
}

/** What is to be kept: a key that the service has just accepted. */
export interface Entered {
  readonly baseUrl: URL;
  readonly apiKey: string;
  readonly keyId: string;
  readonly orgName: string;
}

export interface KeptLogin {
  readonly keptIn: Kept["keptIn"];
  /** Where, as a person knows it, to stand after “in”. */
  readonly place: string;
  /** The login's file. It holds the key itself only when that is kept in a file. */
  readonly file: string;
  /** Sentences about what did not go as it should. */
  readonly faults: readonly string[];
}

/** The keys that a person has entered, each bound to the origin that it was entered for. */
export class Logins {
  readonly files: LoginFiles;
  readonly #env: Environment;
  readonly #keychain: Keychain | undefined;

  constructor({ env, platform = process.platform, spawn: start = spawn, clock = systemClock }: LoginsDeps) {
    this.files = new LoginFiles(configFolder(env));
    this.#env = env;
    this.#keychain = keychainOf(platform, { env, spawn: start, clock });
  }

  /**
   * Keeps a key in the system's keychain, or in a file where that can't be had or isn't wanted, in place of the one
   * that was entered for this origin before; the service is the one in use from then on.
   *
   * @throws PipelineError `internal` when the file can't be written; the signal's reason.
   */
  async keep(
    entered: Entered,
    options: { readonly keychain: boolean },
    signal: AbortSignal,
  ): Promise<KeptLogin> {
    const { baseUrl, apiKey, keyId, orgName } = entered;
    const { origin } = baseUrl;
    const faults: string[] = [];
    const before = await this.files.of(origin).catch(() => undefined);
    const kept = (options.keychain && (await this.#keepSafe(origin, apiKey, faults, signal))) || {
      keptIn: "file" as const,
      apiKey,
    };
    let file: string;
    try {
      file = await this.files.write(origin, { baseUrl: baseUrl.href, keyId, orgName, kept });
    } catch (error) {
      if (kept.keptIn === "keychain" && before === undefined) {
        await this.#keychain?.forget(this.#account(origin), signal).catch(() => undefined);
      }
      throw error;
    }
    if (before?.kept.keptIn === "keychain" && kept.keptIn !== "keychain") {
      const left = await this.#forgetSafe(origin, signal);
      if (left !== undefined) faults.push(`The key of before is still in the keychain. ${left}`);
    }
    await this.files.use(origin);
    const place =
      kept.keptIn === "file" ? "a file that only you can read" : (this.#keychain?.name ?? "the keychain");
    return { keptIn: kept.keptIn, place, file, faults };
  }

  /** A login's key. @throws PipelineError `unauthorized` when it can't be had, with what to do; the signal's reason. */
  async keyOf({ baseUrl, kept }: Login, signal: AbortSignal): Promise<string> {
    if (kept.keptIn === "file") return kept.apiKey;
    const { origin } = new URL(baseUrl);
    const again = loginCommand(baseUrl);
    try {
      const key = await this.#keychainOrFault().find(this.#account(origin), kept, signal);
      if (key !== undefined) return key;
    } catch (cause) {
      if (!(cause instanceof KeychainFault)) throw cause;
      throw new PipelineError("unauthorized", `The API key for ${origin} can't be had. ${cause.message}`, {
        cause,
        next: `Unlock the keychain and try again, or log in again: \`${again} --no-keychain\` keeps the key in a file.`,
      });
    }
    throw new PipelineError(
      "unauthorized",
      `The keychain is locked, or has no API key for ${origin} any more.`,
      {
        next: `Unlock it, or log in again: \`${again}\`.`,
      },
    );
  }

  /**
   * Forgets an origin's key, and the service is no longer the one in use. A login whose key the keychain does not give
   * up stays, so that it can be tried again.
   *
   * @returns whether there was a login.
   * @throws PipelineError `internal` when the key could not be removed; the signal's reason.
   */
  async forget(origin: string, signal: AbortSignal): Promise<boolean> {
    // What can't be read may stand for a key in the keychain too.
    const keptIn = await this.files.of(origin).then(
      (login) => login?.kept.keptIn,
      () => "unknown" as const,
    );
    await this.files.leave(origin);
    if (keptIn === "keychain" || keptIn === "unknown") {
      const left = await this.#forgetSafe(origin, signal);
      if (left !== undefined && keptIn === "keychain") {
        throw new PipelineError("internal", `The API key for ${origin} is still in the keychain. ${left}`, {
          next: "Unlock the keychain and log out again, or remove the entry “Pipeline Runs” there.",
        });
      }
    }
    return this.files.remove(origin);
  }

  /** @returns undefined, with the reason in `faults`, when the keychain doesn't take it. */
  async #keepSafe(
    origin: string,
    apiKey: string,
    faults: string[],
    signal: AbortSignal,
  ): Promise<Kept | undefined> {
    try {
      return await this.#keychainOrFault().keep(this.#account(origin), apiKey, signal);
    } catch (error) {
      if (!(error instanceof KeychainFault)) throw error;
      faults.push(`The system's keychain can't be used. ${error.message}`);
      return undefined;
    }
  }

  /** @returns why the key may still be there. */
  async #forgetSafe(origin: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      await this.#keychainOrFault().forget(this.#account(origin), signal);
      return undefined;
    } catch (error) {
      if (error instanceof KeychainFault) return error.message;
      throw error;
    }
  }

  #keychainOrFault(): Keychain {
    if (this.#keychain === undefined) throw new KeychainFault("This system has none that the tool knows.");
    return this.#keychain;
  }

  /** A keychain is one for all of a person's folders, so a folder that isn't the usual one is part of the name. */
  #account(origin: string): string {
    const isUsual = (this.#env["PIPELINE_CONFIG_DIR"] ?? "") === "";
    return isUsual ? origin : `${origin} in ${encodeURI(configFolder(this.#env))}`;
  }
}

function keychainOf(platform: NodeJS.Platform, deps: KeychainDeps): Keychain | undefined {
  switch (platform) {
    case "darwin":
      return macKeychain(deps);
    case "win32":
      return windowsSeal(deps);
    case "linux":
    case "freebsd":
    case "openbsd":
      return secretService(deps);
    default:
      return undefined;
  }
}
