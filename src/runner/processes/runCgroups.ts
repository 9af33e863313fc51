import { type Dirent, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { codeOf } from "../../project/systemErrors.ts";

/** How often removing a cgroup is tried while its last process exits, and the pause between, in milliseconds. */
const removal = { tries: 40, pause: 50 } as const;

/** A runner's process. Its start time tells it from a later process with the same id. */
export interface RunnerIdentity {
  readonly pid: number;
  /** Its start time as this machine's `ProcessTable` writes it; only to be compared. */
  readonly birth: string;
}

/**
 * The cgroups (v2), one for each runner. Child processes stay in their parent's cgroup unless they may write into another.
 * They are created inside the service's own cgroup, where this user owns that: as root, or in a systemd user session.
 * Elsewhere, as in most containers, there are none.
 */
export class RunCgroups {
  readonly #proc: string;

  /** @param proc where procfs is mounted: `/proc`. */
  constructor(proc: string) {
    this.#proc = proc;
  }

  /** The folder of the cgroup of a runner that this process has started, whether it is there or not. */
  folderOf(runner: RunnerIdentity): string | undefined {
    try {
      // Not cached: a desktop may move a program to another cgroup soon after its start.
      const own = ownCgroup(this.#read("self/mountinfo"), this.#read("self/cgroup"));
      return own === undefined ? undefined : join(own, nameOf(runner));
    } catch {
      return undefined;
    }
  }

  /** Creates a runner's cgroup. @returns its folder; undefined where the system has none or doesn't allow it. */
  make(runner: RunnerIdentity): string | undefined {
    const folder = this.folderOf(runner);
    if (folder === undefined) return undefined;
    try {
      mkdirSync(folder);
      return folder;
    } catch {
      return undefined;
    }
  }

  /** Finds the cgroup of a runner that another service has left behind. */
  find(runner: RunnerIdentity): string | undefined {
    try {
      for (const { folder } of cgroupMounts(this.#read("self/mountinfo"))) {
        const found = subfolders(folder).find((path) => path.endsWith(`/${nameOf(runner)}`));
        if (found !== undefined) return found;
      }
    } catch {
      // Ignored: there is no hierarchy.
    }
    return undefined;
  }

  /** Puts this process into the cgroup. @returns whether the system allowed it. */
  enter(folder: string): boolean {
    return write(join(folder, "cgroup.procs"), String(process.pid));
  }

  /** The ids of the living processes in the cgroup and its descendants. */
  members(folder: string): readonly number[] {
    return [folder, ...subfolders(folder)].flatMap((path) =>
      readIfThere(join(path, "cgroup.procs"))
        .split("\n")
        .map(Number)
        // 0 stands for a process outside this pid namespace.
        .filter((pid) => pid > 0),
    );
  }

  /**
   * Kills all processes in the cgroup atomically, after this process has left it. A kernel before 5.14 can only freeze
   * them, so that they start nothing; SIGKILL still reaches frozen processes.
   */
  kill(folder: string): void {
    if (!this.#leave(folder)) return;
    if (!write(join(folder, "cgroup.kill"), "1")) write(join(folder, "cgroup.freeze"), "1");
  }

  /** Removes a cgroup whose processes are gone, after this process has left it. Failures are ignored. */
  async remove(folder: string): Promise<void> {
    if (!this.#leave(folder)) return;
    for (let tried = 0; tried < removal.tries; tried += 1) {
      if (this.removeEmpty(folder)) return;
      await pause(removal.pause);
    }
  }

  /** Removes a cgroup that has no process. @returns whether it is gone. */
  removeEmpty(folder: string): boolean {
    return [...subfolders(folder).toReversed(), folder].map(isRemoved).every(Boolean);
  }

  /** @returns whether this process is not in the cgroup any more. */
  #leave(folder: string): boolean {
    if (!this.members(folder).includes(process.pid)) return true;
    return write(join(dirname(folder), "cgroup.procs"), String(process.pid));
  }

  #read(name: string): string {
    return readFileSync(join(this.#proc, name), "utf8");
  }
}

/** Named after a runner, not its run: entering a cgroup is slow, so a runner that is kept ready has done it already. */
function nameOf({ pid, birth }: RunnerIdentity): string {
  return `pipeline-runs-${pid}-${birth.replaceAll(/[^\w-]/g, "_")}`;
}

/** Every folder below, parents before what is in them. */
function subfolders(folder: string): readonly string[] {
  let entries: readonly Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    // Ignored: it was removed.
    return [];
  }
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? [path, ...subfolders(path)] : [];
  });
}

function isRemoved(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    return codeOf(error) === "ENOENT";
  }
}

function write(path: string, text: string): boolean {
  try {
    // `r+` doesn't create the file: a cgroup's files are the kernel's.
    writeFileSync(path, text, { flag: "r+" });
    return true;
  } catch {
    return false;
  }
}

/** Empty when it is gone, or is a threaded cgroup, whose processes its parent lists. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (["ENOENT", "ENODEV", "EOPNOTSUPP", "ENOTSUP"].includes(codeOf(error) ?? "")) return "";
    throw error;
  }
}

/**
 * The folder of this process's own cgroup in the v2 hierarchy, which may be the only one or stand beside those of v1.
 *
 * @param mountinfo what `/proc/self/mountinfo` holds.
 * @param membership what `/proc/self/cgroup` holds.
 * @returns undefined where there is no v2 hierarchy, or this process's cgroup isn't mounted.
 */
export function ownCgroup(mountinfo: string, membership: string): string | undefined {
  const own = /^0::(\/.*)$/m.exec(membership)?.[1];
  if (own === undefined) return undefined;
  // In a cgroup namespace, a process may be outside the visible part.
  if (own.split("/").includes("..")) return undefined;
  for (const mount of cgroupMounts(mountinfo)) {
    const inside = posix.relative(mount.root, own);
    if (inside !== ".." && !inside.startsWith("../")) return posix.join(mount.folder, inside);
  }
  return undefined;
}

interface CgroupMount {
  readonly folder: string;
  /** Which part of the hierarchy is mounted there. */
  readonly root: string;
}

/** Where the v2 hierarchy is mounted (proc_pid_mountinfo(5): the type follows a single dash). */
export function cgroupMounts(mountinfo: string): readonly CgroupMount[] {
  return mountinfo.split("\n").flatMap((line): CgroupMount[] => {
    const [mount = "", kind = ""] = line.split(" - ");
    const [, , , root, folder] = mount.split(" ");
    if (root === undefined || folder === undefined || !kind.startsWith("cgroup2 ")) return [];
    return [{ root: unescaped(root), folder: unescaped(folder) }];
  });
}

/** Decodes spaces and the like, written as a backslash and three octal digits. */
function unescaped(path: string): string {
  return path.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
