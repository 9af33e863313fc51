import { connect, type Socket } from "node:net";
import { everyRequest } from "./everyRequest.ts";
import type { Answer, Fetch } from "./fetch.ts";
import { type PlainReply, readPlainReply } from "./plainReply.ts";

/**
 * A `fetch` for short questions to this machine's own service, one after the other over a connection that is kept. It speaks as
 * much of HTTP as these take, by `node:net`: to load `node:http` takes longer than the service does to answer.
 *
 * @param others is asked whatever is more than that, and also what didn't bring such an answer here, for whatever
 * reason but an abort: the outcome is always one that it would have come to. So a GET may reach the service twice.
 */
export function loopbackFetch(others: Fetch): Fetch {
  const connection = new KeptConnection();
  return async (url, request) => {
    const text = textOf(url, request);
    if (text === undefined || connection.isInUse) return others(url, request);
    const { signal } = request;
    signal.throwIfAborted();
    try {
      return answerOf(await connection.ask(url, text, signal));
    } catch {
      if (signal.aborted) throw signal.reason;
      return others(url, request);
    }
  };
}

/** One connection, which keeps no program from ending while nothing is asked over it. */
class KeptConnection {
  /** Whether an answer is waited for. */
  isInUse = false;
  #kept: { readonly host: string; readonly socket: Socket } | undefined;

  async ask({ host, hostname, port }: URL, text: string, signal: AbortSignal): Promise<PlainReply> {
    this.isInUse = true;
    const socket = this.#take(host) ?? connectTo(hostname, port);
    try {
      const reply = await exchange(socket, text, signal);
      if (reply.staysOpen) this.#keep(host, socket);
      else socket.destroy();
      return reply;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      this.isInUse = false;
    }
  }

  #take(host: string): Socket | undefined {
    const kept = this.#kept;
    this.#kept = undefined;
    if (kept?.host === host && !kept.socket.destroyed) {
      kept.socket.off("data", destroySocket);
      return kept.socket.ref();
    }
    kept?.socket.destroy();
    return undefined;
  }

  #keep(host: string, socket: Socket): void {
    // Nothing is said there until something is asked.
    socket.on("data", destroySocket).unref();
    this.#kept = { host, socket };
  }
}

function destroySocket(this: Socket): void {
  this.destroy();
}

function connectTo(hostname: string, port: string): Socket {
  const socket = connect({ host: hostname.replace(/^\[(.*)\]$/, "$1"), port: Number(port || 80) });
  // Whoever waits for an answer is told by its closing; nobody may be waiting.
  return socket.on("error", () => undefined);
}

/** @throws Error when no plain answer comes, or the signal aborts; the connection is then of no more use. */
function exchange(socket: Socket, text: string, signal: AbortSignal): Promise<PlainReply> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const settle = (): void => {
      signal.removeEventListener("abort", onEnd);
      socket.off("data", onData).off("close", onEnd);
    };
    const onEnd = (): void => {
      settle();
      reject(new Error("no whole answer came"));
    };
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      try {
        const reply = readPlainReply(chunks.length === 1 ? chunk : Buffer.concat(chunks));
        if (reply === undefined) return;
        settle();
        resolve(reply);
      } catch (error) {
        settle();
        reject(error);
      }
    };
    signal.addEventListener("abort", onEnd, { once: true });
    socket.on("data", onData).on("close", onEnd).write(text);
  });
}

/** The text of a request that is a short question. @returns undefined for any other. */
function textOf(url: URL, { method, headers, body }: Parameters<Fetch>[1]): string | undefined {
  const isShort = method === "GET" && body === undefined && headers["accept"] === "application/json";
  if (!isShort || url.protocol !== "http:") return undefined;
  const all = Object.entries({ host: url.host, connection: "keep-alive", ...everyRequest, ...headers });
  const lines = all.map(([name, value]) => `${name}: ${value}`);
  const head = [`GET ${url.pathname}${url.search} HTTP/1.1`, ...lines];
  return head.every((line) => /^[\x20-\x7e]+$/.test(line)) ? `${head.join("\r\n")}\r\n\r\n` : undefined;
}

function answerOf({ status, headers, body }: PlainReply): Answer {
  return {
    status,
    headers: { get: (name) => headers.get(name.toLowerCase()) ?? null },
    body: {
      async *[Symbol.asyncIterator]() {
        yield body;
      },
    },
  };
}
