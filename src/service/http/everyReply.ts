import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../contract/clock.ts";
import type { OpenReplies } from "./openReplies.ts";

/**
 * The headers of every reply. A reply is data and no document: nothing in it may run, be framed or be embedded in another
 * site's page. The page sets a policy of its own.
 */
export const standingHeaders = {
  "x-content-type-options": "nosniff",
  "content-security-policy":
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
  "x-frame-options": "DENY",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  // With no-referrer a browser would send the page's own forms with `Origin: null`, as another site's.
  "referrer-policy": "same-origin",
  "cache-control": "no-store",
} as const;

const standing = Object.entries(standingHeaders);

interface EveryReplyDeps {
  readonly clock: Pick<Clock, "now" | "after">;
  readonly replies: Pick<OpenReplies, "stopping">;
}

/**
 * The replies of a server. Each has the standing headers, unless its route sets its own, and the time of the service's
 * clock, by which the seconds to 00:00 UTC are counted (contract: "Refusals and errors over HTTP").
 *
 * A reply that begins before the request's body was read is the last on its connection: a next request would wait for
 * the rest of that body.
 */
export function everyReply({ clock, replies }: EveryReplyDeps): typeof ServerResponse {
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

/** A request without a body is not `complete` either while Node emits it. */
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
 * Discards what a connection still sends. Called before its last reply is ended. Then the connection is half closed, and
 * closed when the caller closes it too, or after a while.
 */
export function lingerAfterReply(socket: Socket, clock: Pick<Clock, "after">): void {
  const discard = () => {
    // Node's own listeners, which would parse it.
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
