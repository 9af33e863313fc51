import { accessSync, constants, statSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, delimiter, dirname, join } from "node:path";
import { type Environment, ofProduct } from "../../project/environment.ts";
import type { RunnerJob } from "../launch/protocol.ts";
import { runMarker } from "../processes/processTable.ts";
import { makeScratch, scratchFolder } from "../processes/scratchFolder.ts";

export function withoutWithheld(env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]): [string, string][] =>
      value === undefined || ofProduct.test(name) ? [] : [[name, value]],
    ),
  );
}

/**
 * The environment of a run's processes: that of its start, else the service's own, without the withheld variables and with the
 * run's marker.
 */
export function stepEnvironment(
  own: Environment,
  { runId, environment }: Pick<RunnerJob, "runId" | "environment">,
): Record<string, string> {
  return {
    ...withoutWithheld(environment === undefined ? own : variablesOf(environment)),
    [runMarker]: runId,
  };
}

/** @param environment the variables, each as `NAME=value`. */
export function variablesOf(environment: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    environment.map((variable) => {
      const end = variable.indexOf("=");
      return [variable.slice(0, end), variable.slice(end + 1)];
    }),
  );
}

/** The variable's value. On Windows its name is case-insensitive. */
export function variable(
  environment: Environment,
  name: string,
  platform: NodeJS.Platform,
): string | undefined {
  // Every object has a `constructor` that is no variable.
  const exact = Object.hasOwn(environment, name) ? environment[name] : undefined;
  if (exact !== undefined || platform !== "win32") return exact;
  const wanted = name.toUpperCase();
  return Object.entries(environment).find(([candidate]) => candidate.toUpperCase() === wanted)?.[1];
}

/** Where a shell that has no PATH looks for programs; with a PATH, it looks only there. */
function withoutPath(platform: NodeJS.Platform): string {
  return platform === "win32" ? "" : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
}

/**
 * Provides `node` to steps on a machine without it: this process runs in Node, or in an editor that can act as Node. It
 * comes last on the PATH, so that a `node` of the machine is preferred. The script for that is in the run's scratch folder.
 *
 * @param environment a run's, with its marker.
 * @param execPath the executable of this process.
 * @returns the environment, and the file that a step's `node` runs.
 */
export async function nodeOnPath(
  environment: Readonly<Record<string, string>>,
  execPath: string,
  platform: NodeJS.Platform,
) {
  const pathName = Object.keys(environment).find((name) => name.toUpperCase() === "PATH") ?? "PATH";
  const found = onPath("node", environment, platform);
  if (found !== undefined) return { environment, node: found };
  const withFolder = (folder: string): Readonly<Record<string, string>> => ({
    ...environment,
    [pathName]: [environment[pathName] ?? withoutPath(platform), folder].filter(Boolean).join(delimiter),
  });
  if (/^node(?:\.exe)?$/i.test(basename(execPath)))
    return { environment: withFolder(dirname(execPath)), node: execPath };
  const scratch = scratchFolder(environment[runMarker] ?? "");
  const folder = join(scratch, "node");
  await makeScratch(scratch);
  await mkdir(folder);
  await writeNodeScript(folder, execPath, platform);
  return { environment: withFolder(folder), node: execPath };
}

/** The first program of this name in the folders of the PATH. */
export function onPath(
  program: string,
  environment: Readonly<Record<string, string>>,
  platform: NodeJS.Platform,
): string | undefined {
  const folders = (variable(environment, "PATH", platform) ?? "")
    .split(delimiter)
    .filter((folder) => folder !== "");
  const names = platform === "win32" ? [".exe", ".cmd", ".bat"].map((end) => program + end) : [program];
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isProgram);
}

/** Writes a script `node` that starts the editor's program as Node. */
async function writeNodeScript(folder: string, execPath: string, platform: NodeJS.Platform): Promise<void> {
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

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
  } catch {
    return false;
  }
  try {
    return statSync(path).isFile();
  } catch {
    // Windows can't read the status of an alias of its Store, but runs it.
    return true;
  }
}
