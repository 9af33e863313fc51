import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

function portFile(folder: string): string {
  return join(folder, "service.port");
}

/** The port that this folder's service had the last time; undefined when none is known. */
export async function lastPort(folder: string): Promise<number | undefined> {
  const text = await readFile(portFile(folder), "utf8").catch(() => "");
  const port = /^\d{1,5}\n$/.test(text) ? Number(text) : 0;
  return port > 0 && port < 65_536 ? port : undefined;
}

/** Keeps it for the next time, so that a page that someone has marked is still there. */
export async function keepPort(folder: string, port: number): Promise<void> {
  await writeFile(portFile(folder), `${port}\n`, { mode: 0o600 });
}
