import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { text } from "node:stream/consumers";
import { ServiceClient } from "../../src/client/service/client.ts";
import type { Fetch } from "../../src/client/service/request.ts";
import type { Clock } from "../../src/contract/clock.ts";
import type { Certificate } from "../certificate.ts";

export interface Asked {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export type Answer = (asked: Asked, response: ServerResponse, gone: AbortSignal) => void | Promise<void>;

/** A real HTTP server on loopback that answers as a test says, and keeps what it was asked. */
export class LoopbackService implements AsyncDisposable {
  readonly asked: Asked[] = [];
  /** Requests that are held on purpose now. */
  held = 0;
  /** Requests that the client left before they were answered. */
  left = 0;
  readonly #server: Server;
  readonly #scheme: "http" | "https";
  readonly #watchers = new Set<() => void>();

  /** @param certificate makes it speak TLS. */
  static async listen(answer: Answer, certificate?: Certificate): Promise<LoopbackService> {
    const service = new LoopbackService(answer, certificate);
    await new Promise<void>((resolve) => service.#server.listen(0, "127.0.0.1", resolve));
    return service;
  }

  private constructor(answer: Answer, certificate: Certificate | undefined) {
    const serve = (request: IncomingMessage, response: ServerResponse): void =>
      void this.#serve(request, response, answer);
    this.#scheme = certificate === undefined ? "http" : "https";
    this.#server = certificate === undefined ? createServer(serve) : createSecureServer(certificate, serve);
  }

  get origin(): string {
    return `${this.#scheme}://127.0.0.1:${this.port}`;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the server does not listen");
    return address.port;
  }

  client(clock: Clock, others: { random?: () => number; fetch?: Fetch; path?: string } = {}): ServiceClient {
    const { path = "/", ...options } = others;
    return new ServiceClient({ baseUrl: new URL(path, this.origin), apiKey: testKey, clock, ...options });
  }

  /** Keeps a request waiting until the clock says so, or the client leaves. */
  async hold(clock: Clock, milliseconds: number, gone: AbortSignal): Promise<void> {
    this.held += 1;
    try {
      await clock.sleep(milliseconds, gone);
    } catch {
      // The client has left; there is nobody to answer.
    } finally {
      this.held -= 1;
      this.#changed();
    }
  }

  /** Resolves as soon as the condition holds; it is looked at whenever a request comes, is left or is answered. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        const look = (): void => {
          this.#watchers.delete(look);
          resolve();
        };
        this.#watchers.add(look);
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse, answer: Answer): Promise<void> {
    const gone = new AbortController();
    response.once("close", () => {
      if (!response.writableFinished) {
        this.left += 1;
        gone.abort();
      }
      this.#changed();
    });
    const asked: Asked = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      body: await text(request),
    };
    this.asked.push(asked);
    this.#changed();
    await answer(asked, response, gone.signal);
  }

  #changed(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }
}

/** What no message, no address and no argument may ever hold. */
export const testKey = "plk_5ecre7-0f-the-test";

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

export function sendError(response: ServerResponse, status: number, type: string, message = "as told"): void {
  sendJson(response, status, { error: { type, message } });
}

export const orgOnWire = {
  "org-id": "org_1",
  "org-name": "Lamps",
  tier: "free",
  limits: { "parallel-runs": 1, "runs-per-day": 50 },
  usage: { "runs-today": 7 },
  actor: "key_1",
};

export function runOnWire(others: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    "run-id": "run_1",
    pipeline: "nightly",
    project: "lamps",
    status: "running",
    actor: "key_1",
    runner: "local",
    "created-at": "2026-03-03T10:00:00Z",
    "time-limit-seconds": 30,
    ...others,
  };
}
