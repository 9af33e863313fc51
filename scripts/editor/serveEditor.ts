import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { aborted } from "node:util";
import { Problem } from "../problem.ts";
import { FileLock } from "../process/fileLock.ts";
import type { Say } from "../say.ts";
import { EditorServer } from "./editorServer.ts";
import { FrontDoor } from "./frontDoor.ts";
import { installHost, installVsix } from "./installHost.ts";
import { keptSecret, writeFirstSettings } from "./serverFolders.ts";

interface ServeOptions {
  /** Builds the extension, or finds it; returns the path of the .vsix. */
  readonly package: (signal: AbortSignal) => Promise<string>;
  readonly folder: string;
  /** Kept from one start to the next, with the user's settings and secrets. */
  readonly dataFolder: string;
  readonly preferredPort: number;
}

/**
 * Serves VS Code with the extension installed, until the signal aborts; `onReady` gets the address to open.
 * @throws Problem when it can't be served, or ends by itself; the signal's reason when that came first.
 */
export async function serveEditor(
  options: ServeOptions,
  onReady: (address: string) => void,
  say: Say,
  signal: AbortSignal,
): Promise<void> {
  using _lock = await onlyUser(options.dataFolder);
  const host = await installHost(say, signal);
  const vsix = await options.package(signal);
  say(`Starting VS Code ${host.version}…`);
  await writeFirstSettings(options.dataFolder);
  await installVsix(host, options.dataFolder, vsix, signal);
  await using server = await EditorServer.start(
    { host, dataFolder: options.dataFolder, smoke: false, builtinExtensions: true },
    signal,
  );
  await using door = await FrontDoor.open({
    editor: server,
    mintKey: await keptSecret(join(options.dataFolder, "mint-key")),
    preferredPort: options.preferredPort,
  });
  const address = door.address(options.folder);
  await writeFile(addressFile(options.dataFolder), address, { mode: 0o600 });
  onReady(address);
  await Promise.race([server.exited, aborted(signal, signal)]);
  if (signal.aborted) return;
  throw new Problem(
    "VS Code's server ended by itself.",
    `Start it again; it wrote:\n${server.output.trimEnd()}`,
  );
}

async function onlyUser(dataFolder: string): Promise<FileLock> {
  const lock = await FileLock.tryTake(join(dataFolder, "lock"));
  if (lock !== undefined) return lock;
  const address = await readFile(addressFile(dataFolder), "utf8").catch(() => undefined);
  throw new Problem(
    `Another start already serves VS Code from ${dataFolder}${address === undefined ? "" : `, at ${address}`}.`,
    "Open that one, or stop it first.",
  );
}

function addressFile(dataFolder: string): string {
  return join(dataFolder, "address");
}
