import { Agent, type IncomingMessage, request } from "node:http";
import { refuseOldNode } from "../embedded/versions.ts";
import type { Environment } from "../environment.ts";
import type { Fetch } from "./request.ts";

/**
 * The `fetch` of a program whose network settings are its environment, for one service: by `node:http` where that is on
 * this machine, else by undici, which is loaded with the first request; that throws as `remoteFetch` and `refuseOldNode`.
 */
export function environmentFetch(baseUrl: URL, env: Environment): Fetch {
  // Over http only this machine is asked; see `parseBaseUrl`.
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

/** Asks a service on this machine. With an agent of its own: Node's may have been told of a proxy. */
export function loopbackFetch(): Fetch {
  let agent: Agent | undefined;
  return (url, { method, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted();
      agent ??= new Agent({ keepAlive: true });
      const asking = request(url, { method, headers, agent });
      let stoppable: IncomingMessage | typeof asking = asking;
      signal.addEventListener("abort", () => stoppable.destroy(signal.reason), { once: true });
      asking.once("response", (answer: IncomingMessage) => {
        stoppable = answer;
        const get = (name: string) => answer.headersDistinct[name.toLowerCase()]?.join(", ") ?? null;
        resolve({ status: answer.statusCode ?? 0, headers: { get }, body: answer });
      });
      asking.on("error", reject);
      asking.end(body);
    });
}
