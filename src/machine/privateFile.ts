import { randomUUID } from "node:crypto";
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from "node:fs";
import { chmod, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { PipelineError } from "../contract/errors.ts";
import { codeOf } from "../project/systemErrors.ts";
import { makeFolder, statFolder } from "./dataFolder.ts";

const largestBytes = 64 * 1024;
const othersMay = 0o077;
const hasModes = process.platform !== "win32";

/**
 * Reads a file that only this user may access. Links are not followed: they may lead to another user's file.
 *
 * @returns undefined when there is none, or when its folder can't be entered.
 * @throws PipelineError `unauthorized` for anything but a file, one that is too large, or one that others may read or write.
 */
export function readPrivate(path: string): string | undefined {
  // Synchronous: every command begins with it, and `node:fs/promises` takes longer to load than the file to read.
  let file: number;
  try {
    if (!hasModes && lstatSync(path).isSymbolicLink())
      throw notUsed(path, "is a link, which is not followed");
    // Non-blocking, in case of a pipe without a writer.
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
 * Writes a file that only this user may access, as {@link replaceFile}.
 * @throws PipelineError `internal` when it can't be written.
 */
export async function writePrivate(path: string, text: string): Promise<void> {
  try {
    await makePrivateFolder(dirname(path));
    await replaceFile(path, text, 0o600);
  } catch (cause) {
    if (cause instanceof PipelineError) throw cause;
    throw new PipelineError("internal", `The login file ${path} can't be written: ${reasonOf(cause)}.`, {
      cause,
      next: "Make room for it, or name another folder with PIPELINE_CONFIG_DIR.",
    });
  }
}

/**
 * Writes a file atomically: a reader, also after a crash, finds the old one or the new one. A link of that name is replaced, its
 * target left alone.
 * @param mode of a file for this user alone: 0o600; the system's usual one when left out.
 * @throws the file system's error; then nothing is left of the new one.
 */
export async function replaceFile(path: string, content: string | Uint8Array, mode?: number): Promise<void> {
  const fresh = freshName(path);
  try {
    const file = await open(fresh, "wx", mode);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** An unused name beside `path`. */
export function freshName(path: string): string {
  return `${path}.${randomUUID()}.new`;
}

/** Removes others' access to the tool's own folder; refuses one that another user owns and could swap files in. */
async function makePrivateFolder(folder: string): Promise<void> {
  await makeFolder(folder);
  if (!hasModes) return;
  const next = "Name another folder with PIPELINE_CONFIG_DIR.";
  const { mode, uid } = await statFolder(folder, next);
  const own = process.getuid?.();
  if (own !== undefined && own !== 0 && uid !== own) {
    throw new PipelineError("internal", `The folder ${folder} belongs to another user.`, { next });
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

/** @param what the rest of the sentence after the file. */
export function notUsed(path: string, what: string, next?: string): PipelineError {
  return new PipelineError("unauthorized", `The login file ${path} ${what}.`, {
    next: next ?? "Remove it, then log in again with `pipeline login`.",
  });
}

function reasonOf(error: unknown): string {
  return codeOf(error) ?? (error instanceof Error ? error.message : String(error));
}
