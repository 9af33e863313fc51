import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fromWire } from "../../contract/wire.ts";
import { type Connection, connectionSchema } from "./connection.ts";

export type { Connection };

/**
 * How a face finds this machine's embedded service: a file of mode 0600 in the data folder, written by the service
 * once it answers and removed when it stops. After a crash it may stand there stale, so `instance` is compared with
 * what `GET /healthz` says before the token is sent to whoever now listens on that port.
 */
export function connectionFile(folder: string): string {
  return join(folder, "service.json");
}

/** @returns undefined when there is no such file, or one that can't be read as a connection. */
export async function readConnection(folder: string): Promise<Connection | undefined> {
  const text = await readFile(connectionFile(folder), "utf8").catch(() => "");
  return parseConnection(text);
}

/**
 * As {@link readConnection}, for a program that has nothing else to do meanwhile: Node's threads, and all that it has for
 * waiting on them, take longer to begin than the tool's other work.
 */
export function readConnectionNow(folder: string): Connection | undefined {
  try {
    return parseConnection(readFileSync(connectionFile(folder), "utf8"));
  } catch {
    return undefined;
  }
}

/** What a connection file says. @returns undefined for what is none. */
export function parseConnection(text: string): Connection | undefined {
  try {
    const read = fromWire(connectionSchema, JSON.parse(text));
    return read.kind === "valid" && URL.canParse(read.value.url) ? read.value : undefined;
  } catch {
    return undefined;
  }
}
