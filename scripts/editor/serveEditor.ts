import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { aborted } from "node:util";
import { anySignal } from "../../src/machine/anySignal.ts";
import { Problem } from "../problem.ts";
import { FileLock } from "../process/fileLock.ts";
import { projectRoot } from "../projectRoot.ts";
import type { Say } from "../say.ts";
import { EditorServer } from "./editorServer.ts";
import { FrontDoor } from "./frontDoor.ts";
import { type EditorHost, installHost } from "./installHost.ts";
import { keptSecret, listExtension, writeFirstSettings } from "./serverFolders.ts";

interface ServeOptions {
  /** Builds the extension where it lies: in the project's folder. */
  readonly build: (signal: AbortSignal) => Promise<void>;
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
  const host = await installAndBuild(options.build, say, signal);
  say(`Starting VS Code ${host.version}…`);
  await writeFirstSettings(options.dataFolder);
  await listExtension(options.dataFolder, projectRoot);
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

/** Both at the same time: npm waits for the disk, the build for a processor. Where one fails, the other is stopped. */
async function installAndBuild(
  build: ServeOptions["build"],
  say: Say,
  signal: AbortSignal,
): Promise<EditorHost> {
  const failure = new AbortController();
  const either = anySignal([signal, failure.signal]);
  const installing = installHost(say, either);
  const both = [installing, build(either)];
  for (const one of both) one.catch((error: unknown) => failure.abort(error));
  await Promise.allSettled(both);
  either.throwIfAborted();
  return installing;
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
