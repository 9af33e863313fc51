import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { text } from "node:stream/consumers";
import { ServiceClient } from "../../src/client/service/client.ts";
import type { Fetch } from "../../src/client/service/request.ts";
import type { Clock } from "../../src/machine/clock.ts";
import type { Certificate } from "../certificate.ts";
import { Listening } from "../listening.ts";

export interface Asked {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export type Answer = (asked: Asked, response: ServerResponse, gone: AbortSignal) => unknown;

/** A real HTTP server on loopback that answers as a test says, and keeps what it was asked. */
export class LoopbackService extends Listening {
  readonly asked: Asked[] = [];
  /** Requests that are held on purpose now. */
  held = 0;
  /** Requests that the client left before they were answered. */
  left = 0;
  readonly #scheme: string;

  /** @param certificate makes it speak TLS. */
  static async listen(answer: Answer, certificate?: Certificate): Promise<LoopbackService> {
    const service: LoopbackService = new LoopbackService(
      (request, response) => void service.#serve(request, response, answer),
      certificate,
    );
    return service.listen();
  }

  private constructor(serve: RequestListener, certificate: Certificate | undefined) {
    super(certificate === undefined ? createServer(serve) : createSecureServer(certificate, serve));
    this.#scheme = certificate === undefined ? "http" : "https";
  }

  override get origin(): string {
    return `${this.#scheme}://${this.host}`;
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
      this.changed();
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse, answer: Answer): Promise<void> {
    const gone = new AbortController();
    response.once("close", () => {
      if (!response.writableFinished) {
        this.left += 1;
        gone.abort();
      }
      this.changed();
    });
    const asked: Asked = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      body: await text(request),
    };
    this.asked.push(asked);
    this.changed();
    // Node's own is the machine's time, also where the processes of the tests live at another.
    response.setHeader("date", new Date().toUTCString());
    await answer(asked, response, gone.signal);
  }
}

/** A service whose `GET /api/events` stays open, and whose other answers a test gives. */
export class EventService implements AsyncDisposable {
  readonly service: LoopbackService;
  /** The streams that were opened, in their order; closed ones too. */
  readonly streams: ServerResponse[] = [];

  static async listen(answer: Answer = () => undefined): Promise<EventService> {
    const service = await LoopbackService.listen((asked, response, gone) => {
      if (asked.path !== "/api/events") return answer(asked, response, gone);
      response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
      response.write(": welcome\n\n");
      return events.streams.push(response);
    });
    const events = new EventService(service);
    return events;
  }

  private constructor(service: LoopbackService) {
    this.service = service;
  }

  /** Sends an event on the stream that was opened last. */
  send(event: string, data: unknown): void {
    this.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  write(text: string): void {
    this.streams.at(-1)?.write(text);
  }

  /** The n-th stream is open. */
  async opened(count: number): Promise<void> {
    await this.service.until(() => this.streams.length === count);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.service[Symbol.asyncDispose]();
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
