import { readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { installOnDemand } from "../process/installOnDemand.ts";
import { projectRoot } from "../projectRoot.ts";
import type { Say } from "../say.ts";

const hostFolder = join(projectRoot, "test/editor/host");
const serverFolder = join(hostFolder, "node_modules/code-server/lib/vscode");

/** VS Code from npm, ready to be started. */
export interface EditorHost {
  readonly serverMain: string;
  readonly version: string;
}

/**
 * Installs VS Code in `test/editor/host` unless it is there already, as its lock file has it. It isn't a part of the
 * project's own install: half a gigabyte that a contributor with a desktop VS Code never needs.
 * @throws Problem when npm can't install it.
 */
export async function installHost(say: Say, signal: AbortSignal): Promise<EditorHost> {
  await installOnDemand({ name: "VS Code", size: "about 300 MB", folder: hostFolder, finish }, say, signal);
  return { serverMain: join(serverFolder, "out/server-main.js"), version: await version() };
}

/** The workbench in the browser asks for its libraries below the server's folder; npm has put them beside it. */
async function finish(): Promise<void> {
  await symlink("../../..", join(serverFolder, "node_modules"), "junction");
}

async function version(): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(join(serverFolder, "package.json"), "utf8"));
  if (typeof manifest === "object" && manifest !== null && "version" in manifest)
    return String(manifest.version);
  throw new Error("VS Code's package.json has no version");
}
