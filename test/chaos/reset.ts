import type { Socket } from "node:net";

/**
 * Breaks a connection off. Node.js holds a socket for ever that is reset while its end is being sent, and a process with
 * such a one doesn't end: it is only closed.
 */
export function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
