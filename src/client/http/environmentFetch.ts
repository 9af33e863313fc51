import { type Clock, systemClock } from "../clock.ts";
import type { Fetch } from "./fetch.ts";
import { proxyFor } from "./proxy/proxyFor.ts";

/**
 * The `fetch` of a program whose network settings are its environment, for one service: through the proxy that the
 * environment names for it, or through none. `NODE_EXTRA_CA_CERTS` is Node's own. Nothing is loaded before the
 * first request.
 *
 * @throws PipelineError `invalid-request` as `proxyFor`, for a proxy that can't be one.
 */
export function environmentFetch(
  baseUrl: URL,
  env: Readonly<Record<string, string | undefined>>,
  clock: Clock = systemClock,
): Fetch {
  const proxy = proxyFor(baseUrl, env);
  let loading: Promise<Fetch> | undefined;
  return async (url, request) => {
    loading ??= import("./nodeFetch.ts").then(({ nodeFetch }) => nodeFetch({ proxy, clock }));
    return (await loading)(url, request);
  };
}
