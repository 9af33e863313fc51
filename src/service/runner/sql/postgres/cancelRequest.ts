import { once } from "node:events";
import { createConnection, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { PostgresServer } from "./postgresServer.ts";

/** What a server gave at the start of a connection, by which it knows whose statement is to be cancelled. */
export interface BackendKey {
  readonly processId: number;
  readonly secret: number;
}

const cancelCode = 80_877_102;
const tlsCode = 80_877_103;

/**
 * Asks the server, over a connection of its own, to cancel what another one is running; resolves when it has taken the
 * request, whatever it does about it (postgresql.org/docs/current/protocol-flow.html, "Canceling Requests in Progress").
 *
 * @throws when the server can't be reached, or the signal's reason.
 */
export async function requestCancel(
  server: PostgresServer,
  key: BackendKey,
  signal: AbortSignal,
): Promise<void> {
  const plain = server.hostname.startsWith("/")
    ? createConnection({ path: `${server.hostname}/.s.PGSQL.${server.port}` })
    : createConnection({ host: server.hostname, port: server.port });
  const destroy = () => plain.destroy(asError(signal.reason));
  signal.addEventListener("abort", destroy, { once: true });
  try {
    signal.throwIfAborted();
    await once(plain, "connect");
    const socket = server.tls === false ? plain : await secured(plain, server);
    const ended = once(socket, "close");
    socket.resume().end(words(cancelCode, key.processId, key.secret));
    await ended;
  } finally {
    signal.removeEventListener("abort", destroy);
    plain.on("error", () => {}).destroy();
  }
}

async function secured(plain: Socket, { hostname, tls }: PostgresServer): Promise<Socket> {
  plain.write(words(tlsCode));
  const [answer] = await once(plain, "data");
  if (String(answer) !== "S") throw new Error("the server doesn't do TLS");
  const name = isIP(hostname) === 0 ? { servername: hostname } : {};
  const socket = connectTls({ ...(tls || {}), ...name, host: hostname, socket: plain });
  await once(socket, "secureConnect");
  return socket;
}

/** A message of 32-bit numbers, with its length before them. */
function words(...numbers: readonly number[]): Buffer {
  const message = Buffer.alloc(4 * (numbers.length + 1));
  message.writeInt32BE(message.length);
  for (const [index, number] of numbers.entries()) message.writeInt32BE(number, 4 * (index + 1));
  return message;
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
