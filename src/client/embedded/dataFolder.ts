import { chmod, type FileHandle, lstat, mkdir, open, readdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import envPaths from "env-paths";
import { PipelineError } from "../../contract/errors.ts";
import type { Environment } from "../environment.ts";

/**
 * The embedded service's folder, absolute: `PIPELINE_DATA_DIR` when set, else the user's own data folder (contract: the
 * tool). A relative one is of the folder that the caller works in: the service, whose working folder is another, is
 * told the same.
 */
export function dataFolder(env: Environment): string {
  const named = env["PIPELINE_DATA_DIR"] ?? "";
  return named === "" ? envPaths("pipeline-runs", { suffix: "" }).data : resolve(named);
}

const othersMayWrite = 0o022;

/** Whether root works in a folder that belongs to another user. Nobody else ever does. */
export type OtherOwner = "refused" | "allowed";

/**
 * Makes the data folder where it is missing, and sees to it that nobody else can put anything into it: another's database,
 * connection file or link would be taken for this user's own. That others may write to this user's folder is mended; a folder of
 * another user, and one that holds something of another's, are refused. Where users have no number, as on Windows, the
 * access list of the profile says who may, and nothing is looked at.
 *
 * @throws PipelineError `internal` for a folder that can't be this user's own; what the file system says.
 */
export async function prepareDataFolder(folder: string, otherOwner: OtherOwner): Promise<void> {
  await makeFolder(folder);
  const own = process.getuid?.();
  if (own === undefined) return;
  const { uid, mode } = await stat(folder);
  const trusted = new Set([own, 0, ...(own === 0 && otherOwner === "allowed" ? [uid] : [])]);
  const mayOthersWrite = (mode & othersMayWrite) !== 0;
  if (!trusted.has(uid) || (uid !== own && own !== 0 && mayOthersWrite)) {
    throw notOwn(
      `The data folder ${folder} belongs to another user (number ${uid}).`,
      own === 0
        ? `Serve as that user (sudo -u '#${uid}'), name another folder with PIPELINE_DATA_DIR or --data-dir, or let root serve this one with \`pipeline serve --allow-other-owner\`.`
        : nameAnother,
    );
  }
  // A file system without modes, as of another system's disk, leaves it as it is.
  if (mayOthersWrite) await chmod(folder, mode & 0o7777 & ~othersMayWrite);
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    // What goes meanwhile is nobody's.
    const facts = await lstat(path).catch(() => undefined);
    if (facts !== undefined && !trusted.has(facts.uid)) {
      throw notOwn(`${path} belongs to another user (number ${facts.uid}).`, nameAnother);
    }
  }
}

const nameAnother = "Name a folder of your own with PIPELINE_DATA_DIR or --data-dir, such as a new one.";

function notOwn(message: string, next: string): PipelineError {
  return new PipelineError("internal", message, { next });
}

/**
 * Makes a folder for this user's eyes only, and those above it that are missing. One that is there is left as it is.
 * Node's own way with parents never ends below a folder like `/proc`, which is there and takes nothing.
 */
export async function makeFolder(folder: string): Promise<void> {
  const make = () => mkdir(folder, { mode: 0o700 });
  try {
    await make();
  } catch (error) {
    if (codeOf(error) === "EEXIST") return;
    if (codeOf(error) !== "ENOENT" || dirname(folder) === folder) throw error;
    await makeFolder(dirname(folder));
    await make().catch((again: unknown) => {
      // Another process may have been faster.
      if (codeOf(again) !== "EEXIST") throw again;
    });
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

const largestBytes = 1024 * 1024;

/** Where the embedded service's own output goes. */
export function serviceLogFile(folder: string): string {
  return join(folder, "service.log");
}

/** Opens the log for one more service, readable by its owner only; begins it anew when it has passed 1 MiB. */
export async function openServiceLog(folder: string): Promise<FileHandle> {
  const path = serviceLogFile(folder);
  const size = await sizeOf(path);
  const log = await open(path, size > largestBytes ? "w" : "a", 0o600);
  await log.chmod(0o600);
  return log;
}

/** The last lines that were written after `start` (bytes from the log's beginning), at most `lines` of them. */
export async function lastLines(folder: string, start: number, lines: number): Promise<string[]> {
  await using log = await open(serviceLogFile(folder), "r");
  const { size } = await log.stat();
  const begin = start <= size ? start : 0;
  const length = Math.min(size - begin, 16 * 1024);
  const { buffer, bytesRead } = await log.read(Buffer.alloc(length), 0, length, size - length);
  const text = buffer.subarray(0, bytesRead).toString("utf8");
  return text
    .split(/\r?\n/)
    .filter((line) => line.trim() !== "")
    .slice(-lines);
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch {
    return 0;
  }
}
