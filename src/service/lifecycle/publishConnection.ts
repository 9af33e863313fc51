import { readFile, rm } from "node:fs/promises";
import { toWire } from "../../contract/wire.ts";
import {
  type Connection,
  connectionFile,
  parseConnection,
  readConnection,
} from "../../machine/connectionFile.ts";
import { replaceFile } from "../../machine/privateFile.ts";
import { ifThere } from "../../project/systemErrors.ts";

/** Writes the connection file, by which this machine's faces find the service: atomically, readable by this user only. */
export function publishConnection(folder: string, connection: Connection): Promise<void> {
  return replaceFile(connectionFile(folder), `${JSON.stringify(toWire(connection))}\n`, 0o600);
}

/** Writes the connection file again where it is gone or of another service. @throws the file system's error. */
export async function keepPublished(folder: string, connection: Connection): Promise<void> {
  // Any other error, as when too many files are open, doesn't say that it is gone.
  const text = (await ifThere(readFile(connectionFile(folder), "utf8"))) ?? "";
  if (parseConnection(text)?.instance !== connection.instance) await publishConnection(folder, connection);
}

/** Removes the connection file, unless another start of the service has written its own. */
export async function withdrawConnection(folder: string, instance: string): Promise<void> {
  if ((await readConnection(folder))?.instance === instance)
    await rm(connectionFile(folder), { force: true });
}
