import type { Socket } from "node:net";
import type { Clock } from "../../contract/clock.ts";

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
