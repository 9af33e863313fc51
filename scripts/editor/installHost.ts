import { readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { Problem } from "../problem.ts";
import { installOnDemand } from "../process/installOnDemand.ts";
import { runProgram } from "../process/program.ts";
import { projectRoot } from "../projectRoot.ts";
import type { Say } from "../say.ts";
import { folderArguments, serverEnvironment } from "./serverFolders.ts";

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

/**
 * Installs a packaged extension for the servers of `dataFolder`, over any earlier one of the same name.
 * @throws Problem with what VS Code said, when it refuses the package.
 */
export async function installVsix(
  host: EditorHost,
  dataFolder: string,
  vsix: string,
  signal: AbortSignal,
): Promise<void> {
  const { exitCode, output } = await runProgram(
    process.execPath,
    [
      host.serverMain,
      ...(await folderArguments(dataFolder, false, host.serverMain)),
      ...["--install-extension", vsix, "--force", "--telemetry-level", "off"],
      "--accept-server-license-terms",
    ],
    { env: serverEnvironment() },
    signal,
  );
  if (exitCode === 0) return;
  const reason = /^Error: (.+)$/m.exec(output)?.[1] ?? (output.trim() || "it wrote nothing");
  throw new Problem(
    `VS Code could not install ${vsix}: ${reason.replace(/\.$/, "")}.`,
    'Build it again with "npm run build && npm run package", and look whether the disk is full.',
  );
}
