import { chmod, lstat, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { PipelineError } from "../contract/errors.ts";
import { makeFolder } from "./makeFolder.ts";

const othersMayWrite = 0o022;

/**
 * Makes the data folder where it is missing, and sees to it that nobody else can put anything into it: another's database,
 * connection file or link would be taken for this user's own. That others may write to this user's folder is mended; a folder of
 * another user, and one that holds something of another's, are refused. Where users have no number, as on Windows, the
 * access list of the profile says who may, and nothing is looked at.
 *
 * @throws PipelineError `internal` for a folder that can't be this user's own; what the file system says.
 */
export async function ownDataFolder(folder: string): Promise<void> {
  await makeFolder(folder);
  const own = process.getuid?.();
  if (own === undefined) return;
  const { uid, mode } = await stat(folder);
  // Root may work in the folder of whoever it works for.
  const trusted = new Set([own, 0, ...(own === 0 ? [uid] : [])]);
  if (uid !== own && own !== 0 && (!trusted.has(uid) || (mode & othersMayWrite) !== 0)) {
    throw notOwn(`The data folder ${folder} belongs to another user.`);
  }
  // A file system without modes, as of another system's disk, leaves it as it is.
  if ((mode & othersMayWrite) !== 0) await chmod(folder, mode & 0o7777 & ~othersMayWrite);
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    // What goes meanwhile is nobody's.
    const facts = await lstat(path).catch(() => undefined);
    if (facts !== undefined && !trusted.has(facts.uid)) throw notOwn(`${path} belongs to another user.`);
  }
}

function notOwn(message: string): PipelineError {
  return new PipelineError("internal", message, {
    next: "Name a folder of your own with PIPELINE_DATA_DIR or --data-dir, such as a new one.",
  });
}
