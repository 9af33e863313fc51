import { type IncomingMessage, Agent as PlainAgent, request as requestPlainly } from "node:http";
import { request as requestSecurely, Agent as SecureAgent } from "node:https";
import { Readable } from "node:stream";
import { type Clock, systemClock } from "../clock.ts";
import { Deadline } from "../deadline.ts";
import { proxyFault } from "./proxy/proxyFault.ts";
import type { ProxyServer } from "./proxy/proxyFor.ts";
import { TunnelAgent } from "./proxy/tunnelAgent.ts";

export interface NodeFetchDeps {
  /** Where https requests go through. */
  readonly proxy: ProxyServer | undefined;
  readonly clock?: Clock;
}

/** A host that takes longer than this to take a connection and a request, the tunnel included, counts as silent. */
const connectWithinSeconds = 10;

/**
 * A `fetch` over `node:http` for what a client of a service asks: a body is a text, an answer comes as it is, redirects
 * are never followed. It does what Node's own can't without a library: it goes through a given proxy, or through
 * none even where Node was told of one; and an abort closes a connection that is still being made, so that a
 * program which gave up isn't kept from ending.
 */
export function nodeFetch({ proxy, clock = systemClock }: NodeFetchDeps): typeof fetch {
  const plain = new PlainAgent({ keepAlive: true });
  const secure = proxy === undefined ? new SecureAgent({ keepAlive: true }) : new TunnelAgent(proxy, clock);
  return (input, init = {}) =>
    new Promise((resolve, reject) => {
      const signal = init.signal ?? new AbortController().signal;
      signal.throwIfAborted();
      const url = new URL(typeof input === "object" && "url" in input ? input.url : input);
      const isSecure = url.protocol === "https:";
      const connecting = new Deadline(clock, signal);
      connecting.arm(connectWithinSeconds);
      const options = {
        method: init.method ?? "GET",
        headers: headersOf(init),
        connecting: connecting.signal,
      };
      const request = isSecure
        ? requestSecurely(url, { ...options, agent: secure })
        : requestPlainly(url, { ...options, agent: plain });

      let answer: IncomingMessage | undefined;
      // Until there is a connection, it is the proxy that is waited for.
      let awaited = isSecure ? proxy : undefined;
      const stop = (reason: unknown): void => {
        (answer ?? request).destroy(reason instanceof Error ? reason : new Error("aborted"));
        reject((awaited && proxyFault(awaited, url.hostname, reason, clock.now())) ?? reason);
      };
      const onSilence = (): void => stop(connecting.signal.reason);
      const onAbort = (): void => stop(signal.reason);
      const connected = (): void => {
        connecting.signal.removeEventListener("abort", onSilence);
        connecting[Symbol.dispose]();
      };
      connecting.signal.addEventListener("abort", onSilence, { once: true });
      signal.addEventListener("abort", onAbort, { once: true });

      request.once("socket", () => {
        awaited = undefined;
      });
      request.once("finish", connected);
      request.once("response", (incoming) => {
        answer = incoming;
        // Whoever reads the body is told; nobody may be reading it.
        incoming.on("error", () => undefined);
        try {
          resolve(responseOf(incoming));
        } catch (error) {
          stop(error);
        }
      });
      // Without a listener, Node would close the connection and tell nobody.
      request.once("upgrade", (_, socket) => {
        socket.destroy();
        stop(unexpectedStatus(101));
      });
      request.on("error", (error) => {
        connected();
        reject(error);
      });
      request.once("close", () => {
        connected();
        signal.removeEventListener("abort", onAbort);
      });
      request.end(init.body ?? undefined);
    });
}

function headersOf({ headers, cache }: RequestInit): Record<string, string> {
  return {
    "user-agent": "pipeline-runs",
    "accept-encoding": "identity",
    ...(cache === "no-store" ? { "cache-control": "no-cache", pragma: "no-cache" } : {}),
    ...Object.fromEntries(new Headers(headers)),
  };
}

const withoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

/** @throws Error for a status that no answer has. */
function responseOf(incoming: IncomingMessage): Response {
  const { statusCode: status = 0, rawHeaders } = incoming;
  if (status < 200 || status > 599) throw unexpectedStatus(status);
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  }
  if (!withoutBody.has(status)) return new Response(Readable.toWeb(incoming), { status, headers });
  incoming.resume();
  return new Response(null, { status, headers });
}

/** With a code as Node's HTTP parser has them. */
function unexpectedStatus(status: number): Error {
  return Object.assign(new Error(`status ${status}`), { code: "HPE_INVALID_STATUS" });
}
