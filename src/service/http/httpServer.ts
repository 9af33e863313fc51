import { createServer, type IncomingMessage, type Server, ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { getRequestListener, RequestError } from "@hono/node-server";
import type { Hono } from "hono";
import type { Clock } from "../../machine/clock.ts";
import type { Log } from "../../machine/log.ts";
import type { AppEnv } from "./everyRequest.ts";
import type { OpenReplies } from "./openReplies.ts";
import { errorReply, errorText, HttpProblem } from "./reply.ts";

/** What a connection may use. Held starts and streams stay open for long; a request that isn't complete may not. */
export const connectionLimits = {
  /** From a request's first byte to the end of its headers, and to its end, in milliseconds. */
  headersTimeout: 15_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  /** How long an idle connection stays open, in milliseconds. */
  keepAliveTimeout: 5_000,
  /** The bytes of a request's line and headers. */
  maxHeaderSize: 16 * 1024,
  /** Every face holds a stream or two, and every waiter a request. Further connections are closed at once. */
  maxConnections: 2048,
} as const;

interface HttpServerDeps {
  readonly app: Pick<Hono<AppEnv>, "fetch">;
  readonly replies: OpenReplies;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: Readonly<Record<keyof typeof connectionLimits, number>>;
  /** The host of requests that name none, such as a balancer's check by HTTP/1.0; undefined to refuse them. */
  readonly hostname?: string;
}

/** The HTTP server under the app. Even what never becomes a request of the app is answered in the contract's shape. */
export function createHttpServer({
  app,
  replies,
  clock,
  log,
  limits = connectionLimits,
  hostname,
}: HttpServerDeps): Server {
  const { maxConnections, ...timesAndSizes } = limits;
  // The app answers a request without a host; Node would only close the connection.
  // TCP keep-alive: a caller whose machine lost its power must not stay in the queue.
  const options = {
    ...timesAndSizes,
    requireHostHeader: false,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    ServerResponse: everyReply({ clock, replies }),
  };
  const onRefused = (problem: HttpProblem) =>
    log("info", "request refused", { status: problem.status, message: problem.message });
  const listener = getRequestListener(
    (request, bindings) => app.fetch(request, bindings as AppEnv["Bindings"]),
    {
      ...(hostname === undefined ? {} : { hostname }),
      errorHandler(thrown) {
        const error =
          thrown instanceof RequestError ? badRequest("its target or its host is not one") : thrown;
        if (error instanceof HttpProblem) onRefused(error);
        else log("error", "request failed", { error });
        return errorReply(error);
      },
    },
  );
  const answer = (incoming: IncomingMessage, outgoing: ServerResponse) => void listener(incoming, outgoing);
  const server = createServer(options, answer);
  // The app itself sends `100 Continue`, once it reads the body.
  for (const event of ["checkExpectation", "checkContinue"]) server.on(event, answer);
  server.maxConnections = maxConnections;
  // No limit here, because Node would drop the headers beyond it, and those could be the ones that matter.
  server.maxHeadersCount = 0;
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (!socket.writable || error.code === "ECONNRESET" || !replies.canReportFaultOn(socket)) {
      socket.destroy();
      return;
    }
    const problem = problemOf(error.code);
    onRefused(problem);
    endWithProblem(socket, problem, clock);
  });
  return server;
}

/** Answers a request that could not be parsed, and closes the connection. */
function endWithProblem(socket: Socket, problem: HttpProblem, clock: Clock): void {
  const text = errorText(problem);
  const headers = {
    ...standingHeaders,
    "content-type": "application/json",
    date: new Date(clock.now()).toUTCString(),
    "content-length": Buffer.byteLength(text),
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  lingerAfterReply(socket, clock);
  socket.end(
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${lines.join("\r\n")}\r\n\r\n${text}`,
  );
}

function problemOf(code: string | undefined): HttpProblem {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new HttpProblem(431, "invalid-request", {
        message: "The request's line and headers are too long.",
        next: `They have at most ${connectionLimits.maxHeaderSize} bytes together.`,
      });
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new HttpProblem(413, "payload-too-large", {
        message: "The chunks of the request's body carry too much besides the body.",
        next: "Send the body without chunk extensions.",
      });
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new HttpProblem(408, "invalid-request", {
        message: "The request was not complete in time.",
        next: "Send it again, all of it.",
      });
    default:
      return badRequest("it can't be read");
  }
}

function badRequest(why: string): HttpProblem {
  return new HttpProblem(400, "invalid-request", {
    message: `This is not an HTTP request that the service takes: ${why}.`,
    next: "Send HTTP/1.1 with a Host header.",
  });
}

/**
 * The headers of every reply. A reply is data, not a document: nothing in it may run, be framed or be embedded in another
 * site's page. The page sets a policy of its own.
 */
const standingHeaders = {
  "x-content-type-options": "nosniff",
  "content-security-policy":
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
  "x-frame-options": "DENY",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  // With no-referrer a browser would send the page's own forms with `Origin: null`, like another site's.
  "referrer-policy": "same-origin",
  "cache-control": "no-store",
} as const;

const standing = Object.entries(standingHeaders);

/**
 * The replies of a server. Each has the standing headers, unless its route sets its own, and a `Date` by the service's
 * clock, which also counts the seconds to 00:00 UTC (contract: "Refusals and errors over HTTP").
 *
 * A reply that begins before the request's body was read is the last on its connection: the next request would have to
 * wait for the rest of that body.
 */
function everyReply({ clock, replies }: Pick<HttpServerDeps, "clock" | "replies">): typeof ServerResponse {
  return class<Request extends IncomingMessage> extends ServerResponse<Request> {
    override writeHead(status: number, ...rest: readonly unknown[]): this {
      if (!this.headersSent) {
        // The route's own headers are in `rest`, and win.
        for (const [name, value] of standing) this.setHeader(name, value);
        this.setHeader("date", new Date(clock.now()).toUTCString());
        if (replies.stopping) {
          this.setHeader("connection", "close");
          // A face starts another service within a second.
          if (status >= 500) this.setHeader("retry-after", "1");
        }
        if (isBodyUnread(this.req)) {
          this.shouldKeepAlive = false;
          lingerAfterReply(this.req.socket, clock);
        }
      }
      return Reflect.apply(super.writeHead, this, [status, ...rest]);
    }
  };
}

/** While Node emits a request, `complete` is false even if it has no body; so the headers count too. */
function isBodyUnread({ complete, headers }: IncomingMessage): boolean {
  return (
    !complete && (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0)
  );
}

/**
 * How much a connection may still send after its last reply, in bytes, and how long it stays open, in milliseconds. A
 * connection that is closed with unread bytes is reset, and the caller would lose the reply (RFC 9112, 9.6).
 */
const lingering = { bytes: 16 * 1024 * 1024, milliseconds: 2_000 } as const;

/**
 * Discards what the caller still sends. Called before the last reply is ended, which then half closes the connection; it is
 * closed once the caller closes it too, or after a while.
 */
function lingerAfterReply(socket: Socket, clock: Pick<Clock, "after">): void {
  const discard = () => {
    // Removes Node's own listeners, which would parse the data.
    socket.removeAllListeners("data").removeAllListeners("end");
    let left = lingering.bytes;
    socket.on("data", ({ length }: Buffer) => {
      left -= length;
      if (left < 0) socket.destroy();
    });
  };
  if (socket.isPaused()) socket.once("resume", discard).resume();
  else discard();
  // Node calls this when the last reply is written, and would close the connection.
  socket.destroySoon = () => void socket.end();
  socket.once("finish", () => {
    const cancelTimer = clock.after(lingering.milliseconds, () => socket.destroy());
    socket.once("close", cancelTimer);
  });
}
