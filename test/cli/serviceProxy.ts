import { createServer, type IncomingHttpHeaders, request } from "node:http";
import type { AddressInfo } from "node:net";
import { readConnection } from "../../src/client/embedded/connectionFile.ts";

export interface Passed {
  /** `POST /api/runs`. */
  readonly line: string;
  readonly headers: IncomingHttpHeaders;
}

interface ProxyOptions {
  /** The `Date` that the replies are given; the service's own when left out. */
  readonly date?: Date;
  /** Paths that the service does not have. */
  readonly absent?: readonly RegExp[];
  /** Called with each reply that the service has given; the tool gets it when the promise resolves. */
  readonly beforeReply?: (passed: Passed, status: number) => Promise<void> | undefined;
  /** Whether the connection breaks instead of passing this reply on. */
  readonly losesReply?: (passed: Passed, status: number) => boolean;
}

/** A way to the service of a toolbox that keeps what passes, and on which a reply may be slow. */
export class ServiceProxy implements AsyncDisposable {
  readonly passed: Passed[] = [];
  readonly #server;
  readonly #token: string;

  /** @param data the data folder of a service that runs. */
  static async before(data: string, options: ProxyOptions = {}): Promise<ServiceProxy> {
    const connection = await readConnection(data);
    if (connection === undefined) throw new Error("the service doesn't run yet");
    return ServiceProxy.to(connection, options);
  }

  /** @param service where it is, and the key that the tool has there. */
  static async to(service: { readonly url: string; readonly token: string }, options: ProxyOptions = {}) {
    const proxy = new ServiceProxy(service.url, service.token, options);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  private constructor(
    target: string,
    token: string,
    { date, absent = [], beforeReply, losesReply }: ProxyOptions,
  ) {
    this.#token = token;
    this.#server = createServer((near, answer) => {
      const passed = { line: `${near.method} ${near.url}`, headers: near.headers };
      this.passed.push(passed);
      if (absent.some((path) => path.test(near.url ?? ""))) {
        answer.writeHead(404).end();
        return;
      }
      const { host: _, ...headers } = near.headers;
      const url = new URL(near.url ?? "/", target);
      const far = request(url, { method: near.method ?? "", headers }, async (reply) => {
        await beforeReply?.(passed, reply.statusCode ?? 0);
        if (losesReply?.(passed, reply.statusCode ?? 0)) {
          answer.destroy();
          return;
        }
        const dated = date === undefined ? {} : { date: date.toUTCString() };
        answer.writeHead(reply.statusCode ?? 502, { ...reply.headers, ...dated });
        reply.pipe(answer);
      });
      far.on("error", () => answer.destroy());
      answer.on("close", () => far.destroy());
      near.pipe(far);
    });
  }

  /** Makes a tool come this way. */
  get env(): Record<string, string> {
    const { port } = this.#server.address() as AddressInfo;
    return { PIPELINE_BASE_URL: `http://127.0.0.1:${port}`, PIPELINE_API_KEY: this.#token };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }
}
