import { type IncomingMessage, Agent as PlainAgent, request as requestPlainly } from "node:http";
import { request as requestSecurely, Agent as SecureAgent } from "node:https";
import { type Clock, systemClock } from "../clock.ts";
import { Deadline } from "../deadline.ts";
import { everyRequest } from "./everyRequest.ts";
import type { Answer, AnswerHeaders, Fetch } from "./fetch.ts";
import { proxyFault } from "./proxy/proxyFault.ts";
import type { ProxyServer } from "./proxy/proxyFor.ts";

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
export function nodeFetch({ proxy, clock = systemClock }: NodeFetchDeps): Fetch {
  const plain = new PlainAgent({ keepAlive: true });
  let secure: Promise<SecureAgent> | undefined;
  return async (url, { method, headers, body, signal }) => {
    const isSecure = url.protocol === "https:";
    if (isSecure) secure ??= secureAgent(proxy, clock);
    const agent = (await secure) ?? plain;
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const connecting = new Deadline(clock, signal);
      connecting.arm(connectWithinSeconds);
      const options = {
        method,
        headers: { ...everyRequest, ...headers },
        connecting: connecting.signal,
        agent,
      };
      const request = (isSecure ? requestSecurely : requestPlainly)(url, options);

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
          resolve(answerOf(incoming));
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
      request.end(body);
    });
  };
}

/** Made for the first request that needs one: TLS takes long to load, and this machine's own service has none. */
async function secureAgent(proxy: ProxyServer | undefined, clock: Clock): Promise<SecureAgent> {
  if (proxy === undefined) return new SecureAgent({ keepAlive: true });
  const { TunnelAgent } = await import("./proxy/tunnelAgent.ts");
  return new TunnelAgent(proxy, clock);
}

/** @throws Error for a status that no answer has. */
function answerOf(incoming: IncomingMessage): Answer {
  const { statusCode: status = 0 } = incoming;
  if (status < 200 || status > 599) throw unexpectedStatus(status);
  return { status, headers: headersOf(incoming), body: incoming };
}

function headersOf({ headersDistinct }: IncomingMessage): AnswerHeaders {
  return { get: (name) => headersDistinct[name.toLowerCase()]?.join(", ") ?? null };
}

/** With a code as Node's HTTP parser has them. */
function unexpectedStatus(status: number): Error {
  return Object.assign(new Error(`status ${status}`), { code: "HPE_INVALID_STATUS" });
}
