import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describeError, PipelineError } from "../../contract/errors.ts";
import { toWire } from "../../contract/wire.ts";
import {
  type Connection,
  connectionFile,
  parseConnection,
  readConnection,
} from "../../machine/connectionFile.ts";
import { replaceFile } from "../../machine/privateFile.ts";
import { codeOf, ifThere } from "../../project/systemErrors.ts";

/** Writes the connection file, by which this machine's faces find the service: atomically, readable by this user only. */
export function publishConnection(folder: string, connection: Connection): Promise<void> {
  return replaceFile(connectionFile(folder), `${JSON.stringify(toWire(connection))}\n`, 0o600);
}

/** Writes the connection file again if it is gone or another service's. @throws the file system's error. */
export async function keepPublished(folder: string, connection: Connection): Promise<void> {
  // Any other error, such as too many open files, doesn't mean that it is gone.
  const text = (await ifThere(readFile(connectionFile(folder), "utf8"))) ?? "";
  if (parseConnection(text)?.instance !== connection.instance) await publishConnection(folder, connection);
}

/** Removes the connection file, unless another start of the service has written its own. */
export async function withdrawConnection(folder: string, instance: string): Promise<void> {
  if ((await readConnection(folder))?.instance === instance)
    await rm(connectionFile(folder), { force: true });
}

/** 0 for any free port; `as-before` for the folder's last one, or any other when that is taken. */
export type RequestedPort = number | "as-before";

/**
 * Listens on loopback. @param onTaken called before the service listens on another port than the folder's last one.
 * @returns the port.
 * @throws PipelineError `usage` when a given port can't be used.
 */
export async function listenOnLoopback(
  server: Server,
  { folder, port }: { readonly folder: string; readonly port: RequestedPort },
  onTaken: () => Promise<void>,
): Promise<number> {
  if (port !== "as-before") return listen(server, port);
  const before = await lastPort(folder);
  const listening = await listen(server, before ?? 0).catch(async (error: unknown) => {
    if (before === undefined) throw error;
    await onTaken();
    return listen(server, 0);
  });
  // Stored so that a bookmarked page is still there the next time.
  if (listening !== before) await writeFile(portFile(folder), `${listening}\n`, { mode: 0o600 });
  return listening;
}

function portFile(folder: string): string {
  return join(folder, "service.port");
}

/** The port of this folder's last service; undefined when there is none. */
async function lastPort(folder: string): Promise<number | undefined> {
  const text = await readFile(portFile(folder), "utf8").catch(() => "");
  const port = /^\d{1,5}\n$/.test(text) ? Number(text) : 0;
  return port > 0 && port < 65_536 ? port : undefined;
}

/**
 * @returns the port.
 * @throws PipelineError `usage` when the address can't be listened on.
 */
export async function listen(
  server: Server,
  port: number,
  host = "127.0.0.1",
  next = "Name another with --port, or 0 for any.",
): Promise<number> {
  server.listen(port, host);
  try {
    // Rejects on the event `error`.
    await once(server, "listening");
  } catch (cause) {
    const why = codeOf(cause) === "EADDRINUSE" ? "another program uses it" : describeError(cause);
    throw new PipelineError("usage", `Port ${port} of ${host} can't be used: ${why}.`, { cause, next });
  }
  return (server.address() as AddressInfo).port;
}
