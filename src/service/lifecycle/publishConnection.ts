import { readFile, rename, rm, writeFile } from "node:fs/promises";
import type { Connection } from "../../client/embedded/connectionFile.ts";
import { connectionFile, parseConnection, readConnection } from "../../client/embedded/connectionFile.ts";
import { toWire } from "../../contract/wire.ts";

/** Shows this machine's faces where the service is; whole at once, and for this user's eyes only. */
export async function publishConnection(folder: string, connection: Connection): Promise<void> {
  const file = connectionFile(folder);
  const fresh = `${file}.${connection.pid}`;
  await rm(fresh, { force: true });
  await writeFile(fresh, `${JSON.stringify(toWire(connection))}\n`, { mode: 0o600, flag: "wx" });
  await rename(fresh, file);
}

/**
 * Shows it again where the file is gone, or holds what is no connection of this service's.
 * @throws what the file system says when it can't be told, or can't be written.
 */
export async function keepPublished(folder: string, connection: Connection): Promise<void> {
  let text = "";
  try {
    text = await readFile(connectionFile(folder), "utf8");
  } catch (error) {
    // Of a file that only couldn't be read, as when too many are open, nothing is known.
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
  if (parseConnection(text)?.instance !== connection.instance) await publishConnection(folder, connection);
}

/** Takes the file away again, unless another start of the service has put its own there. */
export async function withdrawConnection(folder: string, instance: string): Promise<void> {
  if ((await readConnection(folder))?.instance === instance)
    await rm(connectionFile(folder), { force: true });
}
