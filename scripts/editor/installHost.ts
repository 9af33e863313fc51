import { createHash } from "node:crypto";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { Problem } from "../problem.ts";
import { FileLock } from "../process/fileLock.ts";
import { runLeashed } from "../process/leashed.ts";
import { npmCommand, withoutScriptVariables } from "../process/npm.ts";
import { projectRoot } from "../projectRoot.ts";
import type { Say } from "../say.ts";

const hostFolder = join(projectRoot, "test/editor/host");
const serverFolder = join(hostFolder, "node_modules/code-server/lib/vscode");
const stampFile = join(hostFolder, "node_modules/.complete");
const lockFile = join(projectRoot, "node_modules/.cache/pipeline-runs/editor-host.lock");

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
  const wanted = await fingerprint();
  if ((await stamp()) !== wanted) {
    using _lock = await FileLock.take(
      lockFile,
      () => say("Another install of VS Code is under way…"),
      signal,
    );
    if ((await stamp()) !== wanted) {
      say("Installing VS Code from npm, once, about 300 MB…");
      await installPackages(signal);
      await writeFile(stampFile, wanted);
    }
  }
  return { serverMain: join(serverFolder, "out/server-main.js"), version: await version() };
}

async function installPackages(signal: AbortSignal): Promise<void> {
  const [npm, ...leading] = npmCommand(process.env);
  const { exitCode, output } = await runLeashed(
    npm,
    // The packages' own scripts would look for a compiler; nothing of what they build is needed here.
    [...leading, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
    { cwd: hostFolder, env: withoutScriptVariables(process.env) },
    signal,
  );
  if (exitCode !== 0) throw installProblem(output);
  // The workbench in the browser asks for its libraries below the server's folder; npm has put them beside it.
  await symlink("../../..", join(serverFolder, "node_modules"), "junction");
}

function installProblem(output: string): Problem {
  const folder = relative(projectRoot, hostFolder);
  if (/ENOSPC|no space left/i.test(output)) {
    return new Problem("The disk is full: VS Code could not be installed.", "Free 1 GB, then do this again.");
  }
  const reason =
    /npm error (?!(?:code|errno|syscall|path|dest|address|port) )(\S.+)/.exec(output)?.[1] ??
    output.trim().split("\n").at(-1) ??
    "no output";
  return new Problem(
    `npm could not install VS Code: ${reason.trim().replace(/\.$/, "")}.`,
    `Check the network, run "npm ci" in ${folder} to see it all, then do this again.`,
  );
}

async function fingerprint(): Promise<string> {
  const hash = createHash("sha256").update(`${process.platform} ${process.arch}\n`);
  for (const file of ["package.json", "package-lock.json"])
    hash.update(await readFile(join(hostFolder, file)));
  return hash.digest("hex");
}

async function stamp(): Promise<string | undefined> {
  return readFile(stampFile, "utf8").catch(() => undefined);
}

async function version(): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(join(serverFolder, "package.json"), "utf8"));
  if (typeof manifest === "object" && manifest !== null && "version" in manifest)
    return String(manifest.version);
  throw new Error("VS Code's package.json has no version");
}
