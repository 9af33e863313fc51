import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { delimiter, isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import { PipelineError } from "../../contract/errors.ts";
import { isNodeTooOld, oldestNode } from "../../machine/versions.ts";
import { type Environment, pathOf } from "../../project/environment.ts";

/** A Node.js, or an editor's Electron that runs as one. */
export interface Runtime {
  readonly execPath: string;
  /** As in `process.versions.node`. */
  readonly version: string;
  readonly hasSqlite: boolean;
}

interface RuntimeDeps {
  /** The face's own. */
  readonly own: Runtime;
  readonly env: Environment;
  readonly platform: NodeJS.Platform;
}

/** The time limit for a program on the PATH to print its version, in milliseconds. */
const probeMilliseconds = 5_000;

/** Runs in any Node.js; false for one that has `node:sqlite` only behind a flag. */
const question =
  'JSON.stringify([process.versions.node, (() => { try { require("node:sqlite"); return true } catch (_) { return false } })()])';

/** Doesn't load `node:sqlite` into the face. */
export function ownRuntime(execPath: string): Runtime {
  return { execPath, version: process.versions.node, hasSqlite: isBuiltin("node:sqlite") };
}

/**
 * The program that runs the embedded service: the face's own runtime, or, where that lacks `node:sqlite`, the first
 * `node` on the PATH that has it.
 *
 * @throws PipelineError `internal` with what to install and the versions found.
 */
export async function findRuntime({ own, env, platform }: RuntimeDeps, signal: AbortSignal): Promise<string> {
  if (isFit(own)) return own.execPath;
  const unfit: Runtime[] = [];
  for (const path of candidates(env, platform)) {
    const runtime = await probe(path, env, signal);
    signal.throwIfAborted();
    if (runtime === undefined) continue;
    if (isFit(runtime)) return runtime.execPath;
    unfit.push(runtime);
  }
  throw new PipelineError("internal", describe(own, unfit), {
    next: `Install Node.js ${oldestNode} or later so that \`node\` is on the PATH.`,
  });
}

function isFit({ version, hasSqlite }: Runtime): boolean {
  return hasSqlite && !isNodeTooOld(version);
}

function* candidates(env: Environment, platform: NodeJS.Platform): Iterable<string> {
  const name = platform === "win32" ? "node.exe" : "node";
  const path = pathOf(env) ?? "";
  for (const folder of new Set(path.split(delimiter))) {
    // A relative entry would depend on the working folder.
    if (isAbsolute(folder)) yield join(folder, name);
  }
}

async function probe(execPath: string, env: Environment, signal: AbortSignal): Promise<Runtime | undefined> {
  if (!(await isFile(execPath))) return undefined;
  try {
    const { NODE_OPTIONS: _, ...others } = env;
    const { stdout } = await promisify(execFile)(execPath, ["-p", question], {
      env: others,
      timeout: probeMilliseconds,
      killSignal: "SIGKILL",
      windowsHide: true,
      signal,
    });
    const told: unknown = JSON.parse(stdout);
    if (!Array.isArray(told)) return undefined;
    const [version, hasSqlite]: unknown[] = told;
    return typeof version === "string" ? { execPath, version, hasSqlite: hasSqlite === true } : undefined;
  } catch {
    // It isn't a working Node.js.
    return undefined;
  }
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() ?? false;
}

function describe(own: Runtime, unfit: readonly Runtime[]): string {
  const needed = `The embedded service needs Node.js ${oldestNode} or later with node:sqlite`;
  const found = unfit.map((runtime) => `${runtime.execPath} is ${naming(runtime)}`).join(", ");
  const others = unfit.length === 0 ? "there is no other on the PATH" : `on the PATH ${found}`;
  return `${needed}; the one at hand is ${naming(own)}, and ${others}.`;
}

function naming(runtime: Runtime): string {
  return runtime.hasSqlite || isNodeTooOld(runtime.version)
    ? runtime.version
    : `${runtime.version} without it`;
}
