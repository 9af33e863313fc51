import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { fromWire } from "../../contract/wire.ts";

/** What the connection file of this machine's embedded service says. */
const connectionSchema = z.object({
  url: z.string().check(z.regex(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/)),
  pid: z.int().check(z.positive()),
  /** The API key of this machine's faces; new at every start of the service. */
  token: z.string().check(z.minLength(1)),
  instance: z.string().check(z.minLength(1)),
  /** The service's version; left out by one that runs from its sources. */
  version: z.optional(z.string()),
});

export type Connection = z.infer<typeof connectionSchema>;

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
  try {
    return parseConnection(readOwn(connectionFile(folder)));
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

/** At once: each of the tool's commands begins with it, and Node's promises of files take longer to load than this takes. */
function readOwn(path: string): string {
  const file = openSync(path, reading);
  try {
    return isOwn(fstatSync(file)) ? readFileSync(file, "utf8") : "";
  } finally {
    closeSync(file);
  }
}

/** Whether nobody but this user can have written it. Windows tells of no user, and keeps others out of the folder itself. */
function isOwn(facts: Stats): boolean {
  const user = process.getuid?.();
  if (user === undefined) return true;
  // Root may use the service of whoever it works for.
  return (user === 0 || facts.uid === user) && facts.isFile() && (facts.mode & 0o022) === 0;
}
