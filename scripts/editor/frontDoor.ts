import { once } from "node:events";
import {
  Agent,
  createServer,
  request as forwardRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { editorAddress } from "./editorServer.ts";

interface FrontDoorOptions {
  /** The VS Code server behind the door. */
  readonly editor: { readonly port: number; readonly token: string };
  /** The server's half of the key that VS Code's web client keeps secrets under. */
  readonly mintKey: Buffer;
  /** Taken when it is free. A browser keeps its storage by the port, so the same one finds yesterday's secrets. */
  readonly preferredPort: number;
}

/**
 * The address that a browser opens. It lets through what the browser's own VS Code window asks for and adds the two
 * answers that VS Code's server lacks: `POST /mint-key`, without which a secret is gone after a reload, and the way to
 * another port of this machine, for which VS Code asks below `/proxy/<port>/` when an extension opens an address there.
 */
export class FrontDoor implements AsyncDisposable {
  readonly #options: FrontDoorOptions;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(options: FrontDoorOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => this.#answer(request, response));
    this.#server.on("upgrade", (request, socket, head) => this.#upgrade(request, socket, head));
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  /** Listens on the loopback interface: on the preferred port, or on any free one when that is taken. */
  static async open(options: FrontDoorOptions): Promise<FrontDoor> {
    const door = new FrontDoor(options);
    for (const port of [options.preferredPort, 0]) {
      try {
        door.#server.listen({ port, host: "127.0.0.1" });
        await once(door.#server, "listening");
        break;
      } catch (error) {
        if (port === 0) throw error;
      }
    }
    return door;
  }

  /** Scheme, host and port. */
  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("The front door is not open");
    return `http://127.0.0.1:${address.port}`;
  }

  /** Where a browser finds a folder of this machine opened. */
  address(folder: string): string {
    return editorAddress(this.url, this.#options.editor.token, folder);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy(); // an upgraded one is none of the server's any more
    this.#agent.destroy();
    await closed;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    if (!comesFromItself(request.headers)) {
      response.writeHead(403, { "content-type": "text/plain" }).end("Another site asked for this.\n");
    } else if (request.url === "/mint-key") {
      this.#mintKey(request, response);
    } else if (request.url?.startsWith("/proxy/") === true) {
      leadToPort(request.url, response);
    } else {
      this.#forward(request, response);
    }
  }

  #mintKey(request: IncomingMessage, response: ServerResponse): void {
    request.resume();
    if (request.method !== "POST") {
      response.writeHead(405, { allow: "POST" }).end();
    } else if (!hasToken(request.headers.cookie, this.#options.editor.token)) {
      response.writeHead(403).end();
    } else {
      response.writeHead(200, { "content-type": "application/octet-stream", "cache-control": "no-store" });
      response.end(this.#options.mintKey);
    }
  }

  #forward(request: IncomingMessage, response: ServerResponse): void {
    const onward = this.#onward(request);
    onward.once("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.statusMessage, answer.rawHeaders);
      answer.pipe(response);
      answer.once("error", () => response.destroy());
    });
    onward.once("error", () => {
      if (response.headersSent) response.destroy();
      else response.writeHead(502, { "content-type": "text/plain" }).end("VS Code does not answer.\n");
    });
    response.once("close", () => onward.destroy());
    request.pipe(onward);
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on("error", () => socket.destroy());
    if (!comesFromItself(request.headers)) {
      socket.end("HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n");
      return;
    }
    const onward = this.#onward(request);
    onward.once("upgrade", (answer, inner, innerHead) => {
      socket.write(statusAndHeaders(answer));
      socket.write(innerHead);
      inner.write(head);
      inner.on("error", () => inner.destroy());
      inner.once("close", () => socket.destroy());
      socket.once("close", () => inner.destroy());
      socket.pipe(inner).pipe(socket);
    });
    onward.once("response", (answer) => {
      answer.resume();
      socket.end(
        `HTTP/1.1 ${answer.statusCode ?? 502} ${answer.statusMessage ?? ""}\r\nconnection: close\r\n\r\n`,
      );
    });
    onward.once("error", () => socket.destroy());
    onward.end();
  }

  #onward(request: IncomingMessage) {
    return forwardRequest({
      host: "127.0.0.1",
      port: this.#options.editor.port,
      method: request.method,
      path: request.url,
      headers: request.headers,
      agent: this.#agent,
    });
  }
}

/**
 * The browser reaches the port by itself: whoever reaches this door is on the same machine. The address may hold a
 * sign-in code, so no cache keeps it.
 */
function leadToPort(url: string, response: ServerResponse): void {
  const [, port, rest = "/"] = /^\/proxy\/(\d{1,5})(\/.*)?$/.exec(url) ?? [];
  const location = `http://127.0.0.1:${port}${rest}`;
  const headers = { location, "cache-control": "no-store", "referrer-policy": "no-referrer" };
  if (URL.canParse(location)) response.writeHead(307, headers).end();
  else response.writeHead(404, { "content-type": "text/plain" }).end("No such port.\n");
}

function hasToken(cookies: string | undefined, token: string): boolean {
  return cookies?.split(/; */).includes(`vscode-tkn=${token}`) === true;
}

function statusAndHeaders(answer: IncomingMessage): string {
  const lines = [`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}`];
  for (let at = 0; at + 1 < answer.rawHeaders.length; at += 2) {
    lines.push(`${answer.rawHeaders[at]}: ${answer.rawHeaders[at + 1]}`);
  }
  return `${lines.join("\r\n")}\r\n\r\n`;
}

const loopbackNames = new Set(["127.0.0.1", "localhost", "[::1]"]);

/**
 * Whether a request to a loopback server was sent by that server's own page, or by no page at all. A name that
 * another site has pointed at this machine shows in `Host`; a page of another site shows in `Origin`. Any port is
 * right in `Host`, since a tunnel may end on another one than it began.
 */
function comesFromItself(headers: IncomingHttpHeaders): boolean {
  const { host, origin } = headers;
  if (host === undefined || !loopbackNames.has(host.replace(/:\d+$/, ""))) return false;
  return origin === undefined || origin === `http://${host}`;
}
