import { execFileSync, spawnSync } from "node:child_process";
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";

/** A disk that can be filled. */
export interface Disk extends Disposable {
  /** What a service reports while the disk is full. */
  readonly fault: RegExp;
  readonly isFull: boolean;
  /** @param pid the service's process, where one runs. */
  fill(pid: number | undefined): Promise<void>;
  free(pid: number | undefined): Promise<void>;
}

/** A small file system, mounted at a folder and really full; needs the permission to mount. */
export function smallDisk(folder: string): Disk {
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=16m", "tmpfs", folder]);
  const filler = join(folder, "filler");
  let isFull = false;
  return {
    fault: /^The disk (?:is full|failed at): ?/,
    get isFull() {
      return isFull;
    },
    async fill() {
      isFull = true;
      spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=1k"]);
    },
    async free() {
      await rm(filler, { force: true });
      isFull = false;
    },
    // Detached even while it is in use: it is freed with its last user.
    [Symbol.dispose]: () => void execFileSync("umount", ["-l", folder]),
  };
}

/** Without that permission: the file size limit of the service's process makes its writes fail. */
export function limitedDisk(folder: string): Disk {
  let isFull = false;
  const limit = (pid: number | undefined, bytes: number | "unlimited") => {
    if (pid !== undefined) spawnSync("prlimit", ["--pid", String(pid), `--fsize=${bytes}:unlimited`]);
  };
  return {
    fault: /^The disk (?:failed at|is full)/,
    get isFull() {
      return isFull;
    },
    async fill(pid) {
      const log = await stat(join(folder, "runs.db-wal")).catch(() => undefined);
      limit(pid, log?.size ?? 0);
      isFull = true;
    },
    async free(pid) {
      limit(pid, "unlimited");
      isFull = false;
    },
    [Symbol.dispose]: () => {},
  };
}

/** Whether this user may mount a file system. */
export function mayMount(folder: string): boolean {
  if (process.getuid?.() !== 0) return false;
  if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]).status !== 0) return false;
  execFileSync("umount", [folder]);
  return true;
}
