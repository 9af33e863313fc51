import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { fromWire } from "../../contract/wire.ts";
import { type Connection, connectionSchema } from "./connection.ts";

/**
 * How a face finds this machine's embedded service: a file of mode 0600 in the data folder, written by the service
 * once it answers and removed when it stops. After a crash it may stand there stale, so `instance` is compared with
 * what `GET /healthz` says before the token is sent to whoever now listens on that port.
 */
export function connectionFile(folder: string): string {
  return join(folder, "service.json");
}

/**
 * @returns undefined when there is no such file, one that can't be read as a connection, or one that another user could have
 * written: its service would be taken for this user's own.
 */
export async function readConnection(folder: string): Promise<Connection | undefined> {
  const text = await readOwn(connectionFile(folder)).catch(() => "");
  return parseConnection(text);
}

/**
 * As {@link readConnection}, for a program that has nothing else to do meanwhile: Node's threads, and all that it has for
 * waiting on them, take longer to begin than the tool's other work.
 */
export function readConnectionNow(folder: string): Connection | undefined {
  try {
    const file = openSync(connectionFile(folder), reading);
    try {
      return isOwn(fstatSync(file)) ? parseConnection(readFileSync(file, "utf8")) : undefined;
    } finally {
      closeSync(file);
    }
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

/** Without waiting, should it be a pipe that nobody writes to. */
const reading = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

async function readOwn(path: string): Promise<string> {
  await using file = await open(path, reading);
  return isOwn(await file.stat()) ? file.readFile("utf8") : "";
}

/** Whether nobody but this user can have written it. Windows tells of no user, and keeps others out of the folder itself. */
function isOwn(facts: Stats): boolean {
  const user = process.getuid?.();
  if (user === undefined) return true;
  // Root may use the service of whoever it works for.
  return (user === 0 || facts.uid === user) && facts.isFile() && (facts.mode & 0o022) === 0;
}
