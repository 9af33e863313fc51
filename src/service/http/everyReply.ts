import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../contract/clock.ts";
import type { OpenReplies } from "./openReplies.ts";

/**
 * What every reply carries, whoever wrote it. A reply is data and no document: nothing in it may run, be framed or be
 * taken into another site's page. The page itself sets a policy of its own.
 */
export const standingHeaders = {
  "x-content-type-options": "nosniff",
  "content-security-policy":
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
  "x-frame-options": "DENY",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  // With no-referrer a browser sends the page's own forms with `Origin: null`, which is not told from a stranger's.
  "referrer-policy": "same-origin",
  "cache-control": "no-store",
} as const;

const standing = Object.entries(standingHeaders);

interface EveryReplyDeps {
  readonly clock: Pick<Clock, "now" | "after">;
  readonly replies: Pick<OpenReplies, "stopping">;
}

/**
 * The replies of a server: each carries the standing headers, unless its route sets its own, and the time by the
 * service's clock, which counts the seconds to 00:00 UTC (contract: "Refusals and errors over HTTP").
 *
 * One that begins before the request's body was read to its end is the last on its connection, and says so: who had to
 * read on would wait for the rest of that body.
 */
export function everyReply({ clock, replies }: EveryReplyDeps): typeof ServerResponse {
  return class<Request extends IncomingMessage> extends ServerResponse<Request> {
    override writeHead(status: number, ...rest: readonly unknown[]): this {
      if (!this.headersSent) {
        // What the route sets is in `rest`, and goes before these.
        for (const [name, value] of standing) this.setHeader(name, value);
        this.setHeader("date", httpDate(clock.now()));
        if (replies.stopping) {
          this.setHeader("connection", "close");
          // Whoever needs this service starts another one within a second.
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

/** A request without a body is not complete either while Node is just telling of it. */
function isBodyUnread({ complete, headers }: IncomingMessage): boolean {
  return (
    !complete && (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0)
  );
}

let lastDate = { second: Number.NaN, text: "" };

/** An instant as HTTP writes it, in whole seconds; many replies are of the same one. */
export function httpDate(instant: number): string {
  const second = Math.floor(instant / 1000);
  if (second !== lastDate.second) lastDate = { second, text: new Date(instant).toUTCString() };
  return lastDate.text;
}

/**
 * What a connection may still send behind its last reply, in bytes, and how long it may stay open after it, in
 * milliseconds. A caller that is still sending would otherwise lose the reply: a connection that is closed with bytes
 * unread is reset (RFC 9112, 9.6).
 */
const lingering = { bytes: 16 * 1024 * 1024, milliseconds: 2_000 } as const;

/**
 * Reads no more requests from a connection: what still comes is discarded. To be called before the last reply is ended.
 * Then the connection is half closed, and gone when the caller closes it too, or has had its time.
 */
export function lingerAfterReply(socket: Socket, clock: Pick<Clock, "after">): void {
  const discard = () => {
    // Node's own listeners, which would parse what comes.
    socket.removeAllListeners("data").removeAllListeners("end");
    let left = lingering.bytes;
    socket.on("data", ({ length }: Buffer) => {
      left -= length;
      if (left < 0) socket.destroy();
    });
  };
  if (socket.isPaused()) socket.once("resume", discard).resume();
  else discard();
  // Node calls this when the last reply is written, and would close the connection at once.
  socket.destroySoon = () => void socket.end();
  socket.once("finish", () => {
    const takeBack = clock.after(lingering.milliseconds, () => socket.destroy());
    socket.once("close", takeBack);
  });
}
