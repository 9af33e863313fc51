import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";

/** What a path answers with: a page, or whatever a listener does. */
type Answer = string | RequestListener;

/** A real server on loopback. Pages are told by their path, without what stands behind `?`. */
export class PageServer implements AsyncDisposable {
  readonly origin: string;
  readonly port: number;
  /** Every path that was asked for, with what stands behind `?`. */
  readonly asked: string[] = [];
  readonly #server: Server;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
    this.origin = `http://127.0.0.1:${port}`;
  }

  static async start(answers: Readonly<Record<string, Answer>>): Promise<PageServer> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("the server has no port");
    const pages = new PageServer(server, address.port);
    server.on("request", (request: IncomingMessage, response) => {
      pages.asked.push(request.url ?? "");
      const answer = answers[pathOf(request)];
      if (answer === undefined) response.writeHead(404, { "content-type": "text/plain" }).end("nothing here");
      else if (typeof answer === "string") response.setHeader("content-type", html).end(answer);
      else answer(request, response);
    });
    return pages;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}

export const html = "text/html; charset=utf-8";

function pathOf({ url = "/" }: IncomingMessage): string {
  return url.split("?", 1)[0] ?? url;
}
