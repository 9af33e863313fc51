import { PipelineError } from "../../contract/errors.ts";
import { dataFolder } from "../../machine/dataFolder.ts";
import type { Environment } from "../../project/environment.ts";
import { connectEmbedded } from "../embedded/connectEmbedded.ts";
import { findEmbedded } from "../embedded/findEmbedded.ts";
import type { ConnectDeps } from "../embedded/startEmbedded.ts";
import { parseBaseUrl } from "../service/baseUrl.ts";
import { ServiceClient } from "../service/client.ts";
import { environmentFetch } from "../service/environmentFetch.ts";
import type { Retries } from "../service/retry.ts";
import { isServiceNamed, type Login, Logins, loginCommand } from "./logins.ts";

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
