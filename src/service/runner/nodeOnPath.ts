import { access, constants, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";

/** An environment in which a step finds `node`, and what to call when the run is over. */
interface WithNode {
  readonly environment: Readonly<Record<string, string>>;
  readonly dispose: () => Promise<void>;
}

/**
 * Lets a step use `node` on a machine that has none: the runner is itself a Node, or an editor that can act as one. A
 * `node` that is on the PATH stays the one that is used; ours stands last on it.
 *
 * @param execPath the program that this process runs in.
 */
export async function nodeOnPath(
  environment: Readonly<Record<string, string>>,
  execPath: string,
  platform: NodeJS.Platform,
): Promise<WithNode> {
  const pathName = Object.keys(environment).find((name) => name.toUpperCase() === "PATH") ?? "PATH";
  const folders = (environment[pathName] ?? "").split(delimiter).filter((folder) => folder !== "");
  if (await hasNode(folders, platform)) return { environment, dispose: async () => {} };
  const withFolder = (folder: string) => ({
    ...environment,
    [pathName]: [...folders, folder].join(delimiter),
  });
  if (/^node(?:\.exe)?$/i.test(basename(execPath))) {
    return { environment: withFolder(dirname(execPath)), dispose: async () => {} };
  }
  const folder = await mkdtemp(join(tmpdir(), "pipeline-runs-node-"));
  await writeStandIn(folder, execPath, platform);
  return {
    environment: withFolder(folder),
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
}

async function hasNode(folders: readonly string[], platform: NodeJS.Platform): Promise<boolean> {
  const names = platform === "win32" ? ["node.exe", "node.cmd", "node.bat"] : ["node"];
  const found = await Promise.all(
    folders.flatMap((folder) => names.map((name) => isExecutable(join(folder, name)))),
  );
  return found.includes(true);
}

/** A `node` that is the editor's own program, told to act as Node. */
async function writeStandIn(folder: string, execPath: string, platform: NodeJS.Platform): Promise<void> {
  if (platform === "win32") {
    const lines = ["@set ELECTRON_RUN_AS_NODE=1", `@"${execPath.replaceAll("%", "%%")}" %*`, ""];
    await writeFile(join(folder, "node.cmd"), lines.join("\r\n"));
    return;
  }
  const quoted = `'${execPath.replaceAll("'", `'\\''`)}'`;
  await writeFile(join(folder, "node"), `#!/bin/sh\nELECTRON_RUN_AS_NODE=1 exec ${quoted} "$@"\n`, {
    mode: 0o700,
  });
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
