import { randomUUID } from "node:crypto";
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from "node:fs";
import { chmod, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { PipelineError } from "../../contract/errors.ts";
import { makeFolder } from "../embedded/dataFolder.ts";

/** Far more than a login is. */
const largestBytes = 64 * 1024;
const othersMay = 0o077;
const hasModes = process.platform !== "win32";

/**
 * Reads a file that is this user's alone. A link is not followed, since it may lead to a file of somebody else's.
 *
 * @returns undefined when there is none, also when its folder can't be entered: then it isn't this user's.
 * @throws PipelineError `unauthorized` for what is no file, is too large, or can be read or changed by others.
 */
export function readPrivate(path: string): string | undefined {
  // At once: each command begins with it, and Node's promises of files take longer to load than this takes.
  let file: number;
  try {
    if (!hasModes && lstatSync(path).isSymbolicLink())
      throw notUsed(path, "is a link, which is not followed");
    // Without waiting, should it be a pipe that nobody writes to.
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    if (error instanceof PipelineError) throw error;
    switch (codeOf(error)) {
      case "ENOENT":
      case "ENOTDIR":
        return undefined;
      case "ELOOP":
        throw notUsed(path, "is a link, which is not followed");
      case "EACCES":
        if (isOutOfSight(path)) return undefined;
    }
    throw notUsed(path, `can't be read: ${reasonOf(error)}`);
  }
  try {
    const facts = fstatSync(file);
    if (!facts.isFile()) throw notUsed(path, "is not a file");
    if (hasModes && (facts.mode & othersMay) !== 0) {
      const mode = (facts.mode & 0o777).toString(8).padStart(4, "0");
      throw notUsed(
        path,
        `may be read or changed by others (mode ${mode})`,
        "If nobody else has seen it, give it the mode 0600; else revoke its key, remove it and log in again with `pipeline login`.",
      );
    }
    if (facts.size > largestBytes) throw notUsed(path, "is larger than any login");
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

/**
 * Writes a file that only this user can read, whole or not at all: whoever reads it meanwhile, or after a crash, finds
 * the old one or the new one. Whatever has its name, but a folder, is replaced; the target of a link is left alone.
 *
 * @throws PipelineError `internal` when it can't be written.
 */
export async function writePrivate(path: string, text: string): Promise<void> {
  const fresh = freshName(path);
  try {
    await makePrivateFolder(dirname(path));
    const file = await open(fresh, "wx", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(fresh, path);
  } catch (cause) {
    await rm(fresh, { force: true }).catch(() => undefined);
    if (cause instanceof PipelineError) throw cause;
    throw new PipelineError("internal", `The login file ${path} can't be written: ${reasonOf(cause)}.`, {
      cause,
      next: "Make room for it, or name another folder with PIPELINE_CONFIG_DIR.",
    });
  }
}

/** A name beside `path` that nothing has yet. */
export function freshName(path: string): string {
  return `${path}.${randomUUID()}.new`;
}

/** The folder is the tool's own, so a mode that lets others in is mended; whoever else owns it could swap its files. */
async function makePrivateFolder(folder: string): Promise<void> {
  await makeFolder(folder);
  if (!hasModes) return;
  const { mode, uid } = await stat(folder);
  const own = process.getuid?.();
  if (own !== undefined && own !== 0 && uid !== own) {
    throw new PipelineError("internal", `The folder ${folder} belongs to another user.`, {
      next: "Name another folder with PIPELINE_CONFIG_DIR.",
    });
  }
  if ((mode & othersMay) !== 0) await chmod(folder, 0o700);
}

function isOutOfSight(path: string): boolean {
  try {
    lstatSync(path);
    return false;
  } catch (error) {
    return codeOf(error) === "EACCES";
  }
}

/** @param what the rest of a sentence that begins with the file. */
export function notUsed(path: string, what: string, next?: string): PipelineError {
  return new PipelineError("unauthorized", `The login file ${path} ${what}.`, {
    next: next ?? "Remove it, then log in again with `pipeline login`.",
  });
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

function reasonOf(error: unknown): string {
  return codeOf(error) ?? (error instanceof Error ? error.message : String(error));
}
