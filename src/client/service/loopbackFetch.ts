import { Agent, type IncomingMessage, request } from "node:http";
import type { Fetch } from "./request.ts";

/** A `fetch` for a service on this machine. It has its own agent, since Node's may use a proxy. */
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
