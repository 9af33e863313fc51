import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../clock.ts";

/**
 * What a connection may still send behind its last reply, in bytes, and how long it may stay open after it, in
 * milliseconds. A caller that is still sending would otherwise lose the reply: a connection that is closed with bytes
 * unread is reset (RFC 9112, 9.6).
 */
const lingering = { bytes: 16 * 1024 * 1024, milliseconds: 2_000 } as const;

/**
 * The replies of a server. One that begins before the request's body was read to its end is the last on its
 * connection, and says so: who had to read on would wait for the rest of that body (contract: "Refusals and errors over HTTP").
 */
export function repliesThatMayBeLast(clock: Pick<Clock, "after">): typeof ServerResponse {
  return class<Request extends IncomingMessage> extends ServerResponse<Request> {
    override writeHead(...head: readonly unknown[]): this {
      if (!this.headersSent && isBodyUnread(this.req)) {
        this.shouldKeepAlive = false;
        lingerAfterReply(this.req.socket, clock);
      }
      return Reflect.apply(super.writeHead, this, head);
    }
  };
}

/** A request without a body is not complete either while Node is just telling of it. */
function isBodyUnread({ complete, headers }: IncomingMessage): boolean {
  return (
    !complete && (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0)
  );
}

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
