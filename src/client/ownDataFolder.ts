import { chmod, lstat, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { PipelineError } from "../contract/errors.ts";
import { makeFolder } from "./makeFolder.ts";

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
export async function ownDataFolder(folder: string, otherOwner: OtherOwner): Promise<void> {
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
