import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";
import { readJson, toWire } from "../../contract/wire.ts";
import { dataFolder, findUserFolder, userFolder } from "../../machine/dataFolder.ts";
import { notUsed, readPrivate, writePrivate } from "../../machine/privateFile.ts";
import type { Environment } from "../../project/environment.ts";
import { codeOf, isMissing } from "../../project/systemErrors.ts";
import { connectEmbedded } from "../embedded/connectEmbedded.ts";
import { findEmbedded } from "../embedded/findEmbedded.ts";
import type { ConnectDeps } from "../embedded/startEmbedded.ts";
import { ServiceClient } from "../service/client.ts";
import { environmentFetch } from "../service/environmentFetch.ts";
import { parseBaseUrl } from "../service/request.ts";
import type { Retries } from "../service/retry.ts";

/** A service that a person has logged in to. */
export interface Login {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Lets people tell keys apart without seeing one. */
  readonly keyId: string;
  readonly orgName: string;
}

const loginSchema = z.object({
  baseUrl: z.string(),
  keyId: z.string(),
  orgName: z.string(),
  /** Differs in a file of an earlier version, which kept the key in the system's keychain. */
  kept: z.object({ keptIn: z.literal("file"), apiKey: z.string().check(z.regex(/^[\x21-\x7e]+$/)) }),
});

const currentSchema = z.object({ origin: z.string() });

/**
 * The keys that a person has entered, each bound to its origin: a private file per origin in the folder `logins`, and
 * `current.json` with the origin in use. With separate files, concurrent tools don't overwrite each other's logins.
 */
export class Logins {
  readonly #env: Environment;
  /** Whether there is no folder for settings, as for a container's user, and hence no login. */
  readonly #isNowhere: boolean;

  constructor(env: Environment) {
    this.#env = env;
    this.#isNowhere = findUserFolder("config", env) === undefined;
  }

  /**
   * Below `PIPELINE_CONFIG_DIR` if that is set, else below the system's usual folder for settings.
   * @throws PipelineError as {@link userFolder}.
   */
  get folder(): string {
    return join(userFolder("config", this.#env), "logins");
  }

  get #current(): string {
    return join(this.folder, "current.json");
  }

  /** The origin in use. @throws PipelineError `unauthorized` for an invalid file; as {@link readPrivate}. */
  async current(): Promise<string | undefined> {
    if (this.#isNowhere) return undefined;
    const text = await readPrivate(this.#current);
    if (text === undefined) return undefined;
    const origin = originIn(text);
    if (origin === undefined) throw notUsed(this.#current, "does not say which service is used");
    return origin;
  }

  /** @throws PipelineError `unauthorized` for a file without a key for this origin; as {@link readPrivate}. */
  async find(origin: string): Promise<Login | undefined> {
    if (this.#isNowhere) return undefined;
    const path = this.#fileOf(origin);
    const text = await readPrivate(path);
    if (text === undefined) return undefined;
    const read = readJson(loginSchema, text);
    if (read === undefined || !isOf(origin, read.baseUrl)) throw notUsed(path, `is no login to ${origin}`);
    const { kept, ...login } = read;
    return { ...login, apiKey: kept.apiKey };
  }

  /** Every origin with a file, valid or not. */
  async origins(): Promise<string[]> {
    return (await this.#names()).flatMap((name) => originOf(name) ?? []).sort();
  }

  /**
   * Stores a key that the service has just accepted, replacing the origin's earlier one, and makes this origin the one in use.
   *
   * @returns the file that holds the key.
   * @throws PipelineError `internal` if a file can't be written.
   */
  async save({ apiKey, ...login }: Login): Promise<string> {
    const { origin } = new URL(login.baseUrl);
    const path = this.#fileOf(origin);
    const kept = { keptIn: "file", apiKey };
    await writePrivate(path, `${JSON.stringify(toWire({ ...login, kept }), undefined, 2)}\n`);
    await writePrivate(this.#current, `${JSON.stringify({ origin })}\n`);
    return path;
  }

  /**
   * Removes an origin's key and any temporary files of a killed tool, and ends the origin's use.
   *
   * @returns whether there was a login.
   * @throws PipelineError `internal` if a file can't be removed.
   */
  async remove(origin: string): Promise<boolean> {
    await this.clearCurrent(origin);
    const name = nameOf(origin);
    const found = (await this.#names()).filter((each) => each === name || each.startsWith(`${name}.`));
    for (const each of found) {
      const path = join(this.folder, each);
      await rm(path, { recursive: true, force: true }).catch((error: unknown) => {
        throw cannotRemove(path, error);
      });
    }
    return found.length > 0;
  }

  /**
   * Ends the use of an origin, unless another one is in use by now.
   * @param origin any origin if omitted.
   */
  async clearCurrent(origin?: string): Promise<void> {
    const path = this.#current;
    const text = await readFile(path, "utf8").catch(() => "");
    if (origin !== undefined && originIn(text) !== origin) return;
    await rm(path, { recursive: true, force: true }).catch((error: unknown) => {
      throw cannotRemove(path, error);
    });
  }

  #fileOf(origin: string): string {
    return join(this.folder, nameOf(origin));
  }

  async #names(): Promise<string[]> {
    if (this.#isNowhere) return [];
    try {
      return await readdir(this.folder);
    } catch (error) {
      if (isMissing(error)) return [];
      throw notUsed(this.folder, `can't be listed: ${codeOf(error) ?? "for an unknown reason"}`);
    }
  }
}

/**
 * Whether a service other than the embedded one is in use (contract: "The command-line tool"); sends no request. Also true for an
 * incomplete setting, which `serviceFor` reports. @throws PipelineError as `Logins.current`.
 */
export async function isServiceNamed(env: Environment): Promise<boolean> {
  if ((env["PIPELINE_BASE_URL"] ?? "") !== "" || (env["PIPELINE_API_KEY"] ?? "") !== "") return true;
  return (await new Logins(env).current()) !== undefined;
}

/** The command line that logs in to a service, safe to paste. */
export function loginCommand(baseUrl: string): string {
  const plain = /^[\w:/.~%-]+$/.test(baseUrl) ? baseUrl : `'${baseUrl.replaceAll("'", "%27")}'`;
  return `pipeline login ${plain}`;
}

/** A file name that is valid on every system. */
function nameOf(origin: string): string {
  return `${encodeURIComponent(origin)}.json`;
}

function originOf(name: string): string | undefined {
  if (!name.startsWith("http") || !name.endsWith(".json")) return undefined;
  try {
    return decodeURIComponent(name.slice(0, -".json".length));
  } catch {
    return undefined;
  }
}

function originIn(current: string): string | undefined {
  return readJson(currentSchema, current)?.origin;
}

function isOf(origin: string, baseUrl: string): boolean {
  try {
    return parseBaseUrl(baseUrl).origin === origin;
  } catch {
    return false;
  }
}

function cannotRemove(path: string, cause: unknown): PipelineError {
  return new PipelineError(
    "internal",
    `${path} can't be removed: ${codeOf(cause) ?? "for an unknown reason"}.`,
    { cause, next: "Remove it by hand." },
  );
}

interface ServiceForDeps
  extends AskingDeps,
    Pick<ConnectDeps, "execPath" | "servicePath" | "spawn" | "start"> {}

interface AskingDeps {
  /** Called before a retry of a request to a named service, see `Retries`. */
  readonly onRetry?: Retries["onRetry"];
}

/**
 * The service that a terminal with this environment uses (contract: "The command-line tool"): the one that `PIPELINE_BASE_URL`
 * and `PIPELINE_API_KEY` name; with neither, the one that a person has logged in to, else this machine's embedded one, which is
 * started if it isn't running. A base URL alone gets only the key that was entered for its origin. A key alone is an error, since
 * its service could only be guessed.
 *
 * @throws PipelineError `unauthorized` for a service whose key is missing or can't be read, `usage` for a key without a base URL;
 * as `parseBaseUrl` and `connectEmbedded`.
 */
export async function serviceFor(
  env: Environment,
  deps: ServiceForDeps,
  signal: AbortSignal,
): Promise<ServiceClient> {
  const baseUrl = env["PIPELINE_BASE_URL"] ?? "";
  const apiKey = env["PIPELINE_API_KEY"] ?? "";
  const logins = new Logins(env);
  if (baseUrl !== "") {
    const url = parseBaseUrl(baseUrl);
    if (apiKey !== "") {
      const refusedKeyNext = `Set PIPELINE_API_KEY to a key that ${url.host} accepts.`;
      return clientOf({ baseUrl: url, apiKey, refusedKeyNext }, env, deps);
    }
    const login = await logins.find(url.origin);
    if (login === undefined) throw noKeyFor(url);
    return loggedIn(url, login, env, deps);
  }
  if (apiKey !== "") {
    throw new PipelineError("usage", "PIPELINE_API_KEY is set, but not the service that it is for.", {
      next: "Set PIPELINE_BASE_URL too, or unset PIPELINE_API_KEY to use this machine's own service.",
    });
  }
  const origin = await logins.current();
  if (origin !== undefined) {
    const login = await logins.find(origin);
    if (login === undefined) throw noLoginTo(origin);
    return loggedIn(parseBaseUrl(login.baseUrl), login, env, deps);
  }
  return (await connectEmbedded({ ...deps, folder: dataFolder(env), env }, signal)).client;
}

interface Named {
  readonly baseUrl: URL;
  readonly apiKey: string;
  /** What to do if the service refuses the key. */
  readonly refusedKeyNext: string;
}

/**
 * A client with the tool's settings, for a service other than this machine's own.
 * @throws PipelineError `unauthorized` for a text that can't be a key; as `environmentFetch`.
 */
export function clientOf(named: Named, env: Environment, deps: AskingDeps): ServiceClient {
  const fetch = environmentFetch(named.baseUrl, env);
  return new ServiceClient({ ...named, fetch, retries: { onRetry: deps.onRetry } });
}

function loggedIn(baseUrl: URL, { apiKey }: Login, env: Environment, deps: ServiceForDeps): ServiceClient {
  const refusedKeyNext = `Log in again: \`${loginCommand(baseUrl.href)}\`.`;
  return clientOf({ baseUrl, apiKey, refusedKeyNext }, env, deps);
}

function noKeyFor(url: URL): PipelineError {
  return new PipelineError(
    "unauthorized",
    `PIPELINE_BASE_URL names ${url.host}, but there is no API key for it.`,
    {
      next: `Log in with \`${loginCommand(url.href)}\`, set PIPELINE_API_KEY to a key of that service, or unset PIPELINE_BASE_URL.`,
    },
  );
}

function noLoginTo(origin: string): PipelineError {
  return new PipelineError(
    "unauthorized",
    `The service in use is ${origin}, but there is no API key for it any more.`,
    {
      next: `Log in again with \`${loginCommand(origin)}\`, or go back to this machine's own service with \`pipeline logout\`.`,
    },
  );
}

/**
 * Like {@link serviceFor}, but doesn't start this machine's own service.
 * @returns undefined if that isn't running. @throws PipelineError as `serviceFor`; the signal's reason.
 */
export async function runningService(
  env: Environment,
  deps: ServiceForDeps,
  signal: AbortSignal,
): Promise<ServiceClient | undefined> {
  if (await isServiceNamed(env)) return serviceFor(env, deps, signal);
  return (await findEmbedded({ folder: dataFolder(env), env }, signal))?.client;
}
