import type { spawn } from "node:child_process";
import { PipelineError } from "../contract/errors.ts";
import type { Clock } from "./clock.ts";
import { connectEmbedded } from "./embedded/connectEmbedded.ts";
import { dataFolder } from "./embedded/dataFolder.ts";
import { parseBaseUrl } from "./http/baseUrl.ts";
import { environmentFetch } from "./http/environmentFetch.ts";
import { ServiceClient } from "./http/serviceClient.ts";

export interface ServiceForDeps {
  /** Runs the embedded service, see `ServiceProgram`. */
  readonly execPath: string;
  readonly servicePath: string;
  readonly fetch?: typeof fetch;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly spawn?: typeof spawn;
}

/** `named` is the one of `PIPELINE_BASE_URL`, `embedded` this machine's own. */
export interface ChosenService {
  readonly kind: "named" | "embedded";
  readonly client: ServiceClient;
}

/**
 * The service that a terminal with this environment uses (contract: "The command-line tool"): the one that
 * `PIPELINE_BASE_URL` and `PIPELINE_API_KEY` name, with neither this machine's embedded one, started when it isn't
 * running. One without the other is an error and no guess: a key alone may be meant for a service that it would not
 * reach, and nobody should find their runs on another service than they thought.
 *
 * @throws PipelineError `unauthorized` for a base URL without a key, `usage` for a key without a base URL; as
 * `parseBaseUrl` and `connectEmbedded`.
 */
export async function serviceFor(
  env: Readonly<Record<string, string | undefined>>,
  deps: ServiceForDeps,
  signal: AbortSignal,
): Promise<ChosenService> {
  const baseUrl = env["PIPELINE_BASE_URL"] ?? "";
  const apiKey = env["PIPELINE_API_KEY"] ?? "";
  const { execPath, servicePath, spawn, ...asking } = deps;
  if (baseUrl !== "") {
    const url = parseBaseUrl(baseUrl);
    if (apiKey === "") {
      throw new PipelineError(
        "unauthorized",
        `PIPELINE_BASE_URL names ${url.host}, but there is no API key for it.`,
        {
          next: "Set PIPELINE_API_KEY to a key of that service, or unset PIPELINE_BASE_URL.",
        },
      );
    }
    const fetch = asking.fetch ?? environmentFetch(url, env);
    return { kind: "named", client: new ServiceClient({ ...asking, fetch, baseUrl: url, apiKey }) };
  }
  if (apiKey !== "") {
    throw new PipelineError("usage", "PIPELINE_API_KEY is set, but not the service that it is for.", {
      next: "Set PIPELINE_BASE_URL too, or unset PIPELINE_API_KEY to use this machine's own service.",
    });
  }
  const folder = dataFolder(env);
  const fetch = asking.fetch ?? environmentFetch(new URL("http://127.0.0.1/"), env);
  const { client } = await connectEmbedded({ ...deps, fetch, folder, env }, signal);
  return { kind: "embedded", client };
}
