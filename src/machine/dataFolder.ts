import type { Stats } from "node:fs";
import { chmod, type FileHandle, lstat, mkdir, open, readdir, stat } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { PipelineError } from "../contract/errors.ts";
import { shellWord } from "../contract/refusal.ts";
import type { Environment } from "../project/environment.ts";
import { codeOf } from "../project/systemErrors.ts";
import { customaryFolder, homeFolder, withHome } from "./home.ts";

/**
 * The embedded service's folder, absolute: `PIPELINE_DATA_DIR`, relative to the working folder, or the system's data folder
 * (contract: "The command-line tool").
 *
 * @throws PipelineError as {@link userFolder}.
 */
export function dataFolder(env: Environment): string {
  return userFolder("data", env);
}

/** The customary folders of each system: the variable with the parent folder, its default in the user's home, and the rest. */
const customs = {
  win32: {
    data: ["LOCALAPPDATA", "AppData/Local", "pipeline-runs/Data"],
    config: ["APPDATA", "AppData/Roaming", "pipeline-runs/Config"],
  },
  darwin: {
    data: ["", "Library/Application Support", "pipeline-runs"],
    config: ["", "Library/Preferences", "pipeline-runs"],
  },
  // The XDG base directory specification.
  other: {
    data: ["XDG_DATA_HOME", ".local/share", "pipeline-runs"],
    config: ["XDG_CONFIG_HOME", ".config", "pipeline-runs"],
  },
} as const;

const variables = { data: "PIPELINE_DATA_DIR", config: "PIPELINE_CONFIG_DIR" } as const;

/**
 * The folder of what this product keeps for a user, absolute: the one that `PIPELINE_DATA_DIR` or `PIPELINE_CONFIG_DIR` names,
 * or the system's. Not by a library: those look for the home as they are loaded, and a user of a container may have none.
 *
 * @returns undefined where a home is needed and there is none.
 */
export function findUserFolder(
  what: "data" | "config",
  env: Environment,
  { platform = process.platform as string, home = homedir } = {},
): string | undefined {
  const named = env[variables[what]] ?? "";
  if (named !== "") return resolve(withHome(named, home));
  const [above, inHome, own] =
    customs[platform === "win32" || platform === "darwin" ? platform : "other"][what];
  const there = customaryFolder(env, above);
  if (there !== undefined) return join(there, own);
  const ofUser = homeFolder(home);
  return ofUser && join(ofUser, inHome, own);
}

/** As {@link findUserFolder}. @throws PipelineError `internal` where a home is needed and there is none. */
export function userFolder(...[what, ...rest]: Parameters<typeof findUserFolder>): string {
  const folder = findUserFolder(what, ...rest);
  if (folder !== undefined) return folder;
  const who = process.getuid?.();
  throw new PipelineError(
    "internal",
    `This user${who === undefined ? "" : ` (number ${who})`} has no home folder for the ${what === "data" ? "data" : "settings"} of Pipeline Runs.`,
    { next: `Set HOME, or name a folder with ${variables[what]}.` },
  );
}

const othersMayWrite = 0o022;
/** The folders for temporary files of all users. They aren't known by their mode, which a user's own volume may have too. */
const sharedByAll = () => [tmpdir(), "/tmp", "/var/tmp", "/dev/shm"];

/** Whether root may use a data folder that belongs to another user. */
export type OtherOwner = "refused" | "allowed";

/**
 * Creates the data folder where it is missing, and ensures that nobody else can write to it: another's database, connection
 * file or link would be trusted. Removes others' write permission; refuses a folder that belongs to another user or holds
 * another's files. On Windows, which has no user ids, the profile's access list decides.
 *
 * @throws PipelineError `internal` for a folder that is refused; file system errors.
 */
export async function prepareDataFolder(folder: string, otherOwner: OtherOwner): Promise<void> {
  await makeFolder(folder);
  const own = process.getuid?.();
  if (own === undefined) return;
  const { uid, mode } = await statFolder(folder, nameAnother);
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
  // No effect on a file system without modes.
  if (mayOthersWrite) await chmod(folder, mode & 0o7777 & ~othersMayWrite);
  for (const name of await namesIn(folder, uid, own)) {
    const path = join(folder, name);
    // The file may have been removed in the meantime.
    const facts = await lstat(path).catch(() => undefined);
    if (facts !== undefined && !trusted.has(facts.uid)) {
      throw notOwn(`${path} belongs to another user (number ${facts.uid}).`, nameAnother);
    }
  }
}

/** @throws PipelineError for a folder of root's that is closed to this user, as one call by `sudo` leaves it in a user's home. */
async function namesIn(folder: string, owner: number, own: number): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error) !== "EACCES" || owner !== 0 || own === 0) throw error;
    throw notOwn(
      `The data folder ${folder} belongs to root, as a call by sudo leaves it.`,
      `Make it your own (sudo chown -R ${own} ${shellWord(folder)}), or name another with PIPELINE_DATA_DIR.`,
    );
  }
}

const nameAnother = "Name a folder of your own with PIPELINE_DATA_DIR or --data-dir, such as a new one.";

function notOwn(message: string, next: string): PipelineError {
  return new PipelineError("internal", message, { next });
}

/**
 * The status of a folder that is to be only this product's.
 *
 * @param next what to do about one that can't be.
 * @throws PipelineError `internal` for what is no folder, and for one that all users share, such as `/tmp`: closing it to them
 *   would break what others do there.
 */
export async function statFolder(folder: string, next: string): Promise<Stats> {
  const facts = await stat(folder);
  if (!facts.isDirectory()) throw new PipelineError("internal", `${folder} is no folder.`, { next });
  if (sharedByAll().includes(resolve(folder))) {
    throw new PipelineError("internal", `The folder ${folder} is one that all users of this machine share.`, {
      next,
    });
  }
  return facts;
}

/**
 * Creates a folder of mode 0700 and its missing parents; an existing one stays as it is. Node's `recursive` never ends below
 * a folder like `/proc`, which accepts no folders.
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
      if (codeOf(again) !== "EEXIST") throw again;
    });
  }
}

/** The log of the embedded service's output. */
export function serviceLogFile(folder: string): string {
  return join(folder, "service.log");
}

const largestBytes = 1024 * 1024;

/**
 * Opens the log for another start of the service, with mode 0600; truncates it above 1 MiB. A running service limits its log
 * itself (`boundedLog`), but one that dies at its start can't.
 */
export async function openServiceLog(folder: string): Promise<FileHandle> {
  const log = await open(serviceLogFile(folder), "a", 0o600);
  await log.chmod(0o600);
  if ((await log.stat()).size > largestBytes) await log.truncate();
  return log;
}

/** At most `lines` last lines after the offset `start` (bytes). */
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
