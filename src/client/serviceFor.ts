import type { spawn } from "node:child_process";
import { PipelineError } from "../contract/errors.ts";
import type { Clock } from "./clock.ts";
import { configFolder } from "./credentials/configFolder.ts";
import { isLoggedOut } from "./credentials/currentLogin.ts";
import type { Login } from "./credentials/login.ts";
import { loginCommand } from "./credentials/loginCommand.ts";
import type { LoginFiles } from "./credentials/loginFiles.ts";
import { connectEmbedded } from "./embedded/connectEmbedded.ts";
import { readConnectionNow } from "./embedded/connectionFile.ts";
import { dataFolder } from "./embedded/dataFolder.ts";
import { parseBaseUrl } from "./http/baseUrl.ts";
import { environmentFetch } from "./http/environmentFetch.ts";
import type { Fetch } from "./http/fetch.ts";
import { loopbackFetch } from "./http/loopbackFetch.ts";
import type { Retries } from "./http/repeated.ts";
import { ServiceClient } from "./http/serviceClient.ts";
import type { Environment } from "./starterEnvironment.ts";

export interface ServiceForDeps extends AskingDeps {
  /** Runs the embedded service, see `ServiceProgram`. */
  readonly execPath: string;
  readonly servicePath: string;
  readonly spawn?: typeof spawn;
}

interface AskingDeps {
  readonly fetch?: Fetch;
  readonly clock?: Clock;
  readonly random?: () => number;
  /** Called when a named service is to be asked again, see `Retries`. */
  readonly onRetry?: Retries["onRetry"];
}

/**
 * The service in use, and where its key comes from: both are in the environment, the key or both were entered with
 * `pipeline login`, or it is this machine's own.
 */
export interface ChosenService {
  readonly kind: "named" | "login" | "embedded";
  readonly client: ServiceClient;
}

/**
 * The service that a terminal with this environment uses (contract: "The command-line tool"): the one that
 * `PIPELINE_BASE_URL` and `PIPELINE_API_KEY` name; with neither the one that a person has logged in to, else this
 * machine's embedded one, started when it isn't running. A base URL alone gets the key that was entered for its origin,
 * and no other. A key alone is an error and no guess: it may be meant for a service that it would not reach, and nobody
 * should find their runs on another service than they thought.
 *
 * @throws PipelineError `unauthorized` for a service whose key is missing or can't be had, `usage` for a key without a
 * base URL; as `parseBaseUrl` and `connectEmbedded`.
 */
export async function serviceFor(
  env: Environment,
  deps: ServiceForDeps,
  signal: AbortSignal,
): Promise<ChosenService> {
  const baseUrl = env["PIPELINE_BASE_URL"] ?? "";
  const apiKey = env["PIPELINE_API_KEY"] ?? "";
  const config = configFolder(env);
  if (baseUrl !== "") {
    const url = parseBaseUrl(baseUrl);
    if (apiKey !== "") {
      const refusedKeyNext = `Set PIPELINE_API_KEY to a key that ${url.host} accepts.`;
      return { kind: "named", client: clientOf({ baseUrl: url, apiKey, refusedKeyNext }, env, deps) };
    }
    const login = await (await loginFiles(config)).of(url.origin);
    if (login === undefined) throw noKeyFor(url);
    return { kind: "login", client: await loggedIn(url, login, env, deps, signal) };
  }
  if (apiKey !== "") {
    throw new PipelineError("usage", "PIPELINE_API_KEY is set, but not the service that it is for.", {
      next: "Set PIPELINE_BASE_URL too, or unset PIPELINE_API_KEY to use this machine's own service.",
    });
  }
  const current = await currentLogin(config);
  if (current !== undefined) {
    const url = parseBaseUrl(current.baseUrl);
    return { kind: "login", client: await loggedIn(url, current, env, deps, signal) };
  }
  const folder = dataFolder(env);
  const fetch = deps.fetch ?? loopbackFetch(environmentFetch(new URL("http://127.0.0.1/"), env));
  const { client } = await connectEmbedded({ ...deps, fetch, folder, env, read: readConnectionNow }, signal);
  return { kind: "embedded", client };
}

interface Named {
  readonly baseUrl: URL;
  readonly apiKey: string;
  /** What to do when the service refuses the key. */
  readonly refusedKeyNext: string;
}

/**
 * A client of another service than this machine's own, as the tool asks it.
 * @throws PipelineError `unauthorized` for what can't be a key; as `environmentFetch`.
 */
export function clientOf(named: Named, env: Environment, deps: AskingDeps): ServiceClient {
  const { fetch = environmentFetch(named.baseUrl, env), clock, random, onRetry } = deps;
  const given = { ...(clock && { clock }), ...(random && { random }) };
  return new ServiceClient({ ...named, fetch, retries: { onRetry }, ...given });
}

/** The login in use. What reads it is loaded only where there may be one. */
async function currentLogin(config: string): Promise<Login | undefined> {
  if (isLoggedOut(config)) return undefined;
  const files = await loginFiles(config);
  const origin = await files.current();
  if (origin === undefined) return undefined;
  const login = await files.of(origin);
  if (login === undefined) throw noLoginTo(origin);
  return login;
}

async function loginFiles(config: string): Promise<LoginFiles> {
  const { LoginFiles } = await import("./credentials/loginFiles.ts");
  return new LoginFiles(config);
}

/** The keychain's code is loaded only here: most calls have no use for it. */
async function loggedIn(
  url: URL,
  login: Login,
  env: Environment,
  deps: ServiceForDeps,
  signal: AbortSignal,
): Promise<ServiceClient> {
  const { Logins } = await import("./credentials/logins.ts");
  const { spawn, clock } = deps;
  const logins = new Logins({ env, ...(spawn && { spawn }), ...(clock && { clock }) });
  const apiKey = await logins.keyOf(login, signal);
  const refusedKeyNext = `Log in again: \`${loginCommand(url.href)}\`.`;
  return clientOf({ baseUrl: url, apiKey, refusedKeyNext }, env, deps);
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
