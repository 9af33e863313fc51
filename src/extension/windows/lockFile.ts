import { randomUUID } from "node:crypto";
import { open, rename, rm, stat } from "node:fs/promises";

/**
 * Takes a lock that windows share, for a piece of work that takes less than `longest` milliseconds. A lock that is older
 * was left by a window that crashed, and is taken over.
 *
 * It saves work and keeps nothing right: two windows that take over in the same moment may both have it.
 * @returns the way to give it back; undefined while another window has it.
 * @throws what the file system throws when no file can be made.
 */
export async function tryLock(path: string, longest: number): Promise<(() => Promise<void>) | undefined> {
  if (!(await make(path))) {
    if (!(await isLeft(path, longest))) return undefined;
    // Only one of those who take over can move it away.
    const old = `${path}.${randomUUID()}`;
    const moved = await rename(path, old).then(
      () => true,
      () => false,
    );
    await rm(old, { force: true });
    if (!moved || !(await make(path))) return undefined;
  }
  return () => rm(path, { force: true });
}

async function make(path: string): Promise<boolean> {
  try {
    await (await open(path, "wx", 0o600)).close();
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

/** By the time of day, since no other clock goes on over a crash; one from the future was made before it was set back. */
async function isLeft(path: string, longest: number): Promise<boolean> {
  const made = await stat(path).catch(() => undefined);
  if (made === undefined) return false;
  const age = Date.now() - made.mtimeMs;
  return age > longest || age < -longest;
}
