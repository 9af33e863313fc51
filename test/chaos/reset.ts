import type { Socket } from "node:net";

/**
 * Breaks a connection. A socket whose FIN is being sent is only closed: Node.js would hold a reset one forever, and the
 * process wouldn't exit.
 */
export function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
