import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { link, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { PipelineError } from "../../contract/errors.ts";
import { codeOf } from "../../project/systemErrors.ts";
import { damageIn, databaseFile, lookInto } from "./openDatabase.ts";
import { storageFault } from "./storageFault.ts";

/**
 * Copies the database of a data folder as it is at this moment, even while a service uses it: orgs, keys' hashes,
 * projects, runs and steps. The copy appears under its name only once it is whole, checked and on the disk.
 *
 * @param target an absolute path, where nothing is yet.
 * @throws PipelineError when there is no database, something is at the target, or either can't be used; nothing is left
 * behind then.
 */
export async function backupDatabase(folder: string, target: string): Promise<void> {
  const source = databaseFile(folder);
  if (!existsSync(source)) {
    throw new PipelineError("not-found", `There is no database in ${folder} yet.`, {
      next: "Name the service's data folder with --data-dir or PIPELINE_DATA_DIR.",
    });
  }
  if (existsSync(target)) throw taken(target);
  const unfinished = `${target}.${randomBytes(6).toString("hex")}.unfinished`;
  try {
    // Readable by this user only, like the database itself; SQLite fills the empty file.
    await (await open(unfinished, "wx", 0o600)).close();
    copy(source, unfinished);
    check(unfinished);
    await sync(unfinished, "r+");
    await putInPlace(unfinished, target);
  } catch (error) {
    throw asBackupError(error, target);
  } finally {
    await rm(unfinished, { force: true });
  }
  // Windows can't open a folder, and keeps its names safe by itself.
  if (process.platform !== "win32") await sync(dirname(target), "r");
}

/** Lets SQLite copy in one read transaction: what others write meanwhile is in the copy wholly or not at all. */
function copy(source: string, target: string): void {
  try {
    lookInto(source, (sqlite) => sqlite.prepare("vacuum into ?").run(target));
  } catch (error) {
    // Unless the database is damaged, the fault is that of the disk with the copy.
    throw storageFault(error, isSourceFault(error) ? source : target);
  }
}

function check(file: string): void {
  const wrong = damageIn(file);
  if (wrong === undefined) return;
  throw new PipelineError("internal", `The copy is not sound: ${wrong}. It was removed.`, {
    next: "Check the disk, then try again.",
  });
}

/** Whether SQLite met damage, which can only be in what it reads. */
function isSourceFault(error: unknown): boolean {
  return error instanceof Error && /malformed|not a database/i.test(error.message);
}

async function sync(path: string, flags: "r" | "r+"): Promise<void> {
  await using handle = await open(path, flags);
  await handle.sync();
}

/** Gives the copy its name, unless something has taken it meanwhile. */
async function putInPlace(file: string, target: string): Promise<void> {
  try {
    await link(file, target);
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw taken(target);
    // A file system without links, as on many USB sticks.
    if (existsSync(target)) throw taken(target);
    await rename(file, target);
  }
}

function taken(target: string): PipelineError {
  return new PipelineError("conflict", `There is something at ${target} already.`, {
    next: "Name a new file; a backup never overwrites one.",
  });
}

function asBackupError(error: unknown, target: string): unknown {
  if (error instanceof PipelineError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new PipelineError("usage", `The backup ${target} can't be written: ${why}.`, {
    cause: error,
    next: "Name a file in a folder that is there and may be written, on a disk with space.",
  });
}
