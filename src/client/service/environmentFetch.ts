import { refuseOldNode } from "../../machine/versions.ts";
import type { Environment } from "../../project/environment.ts";
import { loopbackFetch } from "./loopbackFetch.ts";
import type { Fetch } from "./request.ts";

/**
 * The `fetch` of a program whose network settings are its environment, for one service: by `node:http` for a service on this
 * machine, else by undici, which is loaded with the first request. That request throws as `remoteFetch` and `refuseOldNode`.
 */
export function environmentFetch(baseUrl: URL, env: Environment): Fetch {
  // Only this machine's services may use http; see `parseBaseUrl`.
  if (baseUrl.protocol === "http:") return loopbackFetch();
  const load = async (): Promise<Fetch> => {
    refuseOldNode();
    return (await import("./remoteFetch.ts")).remoteFetch(baseUrl, env);
  };
  let loading: Promise<Fetch> | undefined;
  return async (url, request) => {
    loading ??= load();
    return (await loading)(url, request);
  };
}
