import { mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** How often a cgroup whose last process is just going is tried to be removed, and the pause between, in milliseconds. */
const removal = { tries: 40, pause: 50 } as const;
/** How old an empty cgroup has to be, in milliseconds, before it counts as left: a new one is empty for a moment. */
const leftAfter = 3_600_000;

/**
 * The cgroups (v2) that hold one run each: whatever a process in one starts is in it too, and only who may write into
 * another one leaves it. They are made inside the service's own cgroup, which works where this user owns it: as root, or
 * in a desktop session of systemd's. Elsewhere, as in most containers, there are none.
 */
export class RunCgroups {
  readonly #proc: string;

  /** @param proc where the system tells of its processes: `/proc`. */
  constructor(proc: string) {
    this.#proc = proc;
  }

  /** Makes the run's cgroup. @returns its folder; undefined where the system has none or doesn't allow it. */
  make(runId: string): string | undefined {
    try {
      // Looked up each time: a desktop may move a program to another cgroup soon after its start.
      const own = ownCgroup(this.#read("self/mountinfo"), this.#read("self/cgroup"));
      if (own === undefined) return undefined;
      removeLeft(own);
      const folder = join(own, nameOf(runId));
      mkdirSync(folder);
      return folder;
    } catch {
      return undefined;
    }
  }

  /** The cgroup that a service which died has left of a run, wherever that service was. */
  find(runId: string): string | undefined {
    try {
      for (const { folder } of cgroupMounts(this.#read("self/mountinfo"))) {
        const found = subfolders(folder).find((path) => path.endsWith(`/${nameOf(runId)}`));
        if (found !== undefined) return found;
      }
    } catch {
      // Without a hierarchy to read there is none in it.
    }
    return undefined;
  }

  /** Puts this process into the cgroup. @returns whether the system allowed it. */
  enter(folder: string): boolean {
    return write(join(folder, "cgroup.procs"), String(process.pid));
  }

  /** The ids of the living in the cgroup and in those that its processes made inside it. */
  members(folder: string): readonly number[] {
    return [folder, ...subfolders(folder)].flatMap((path) =>
      readIfThere(join(path, "cgroup.procs"))
        .split("\n")
        .map(Number)
        // 0 is one that this process can't see.
        .filter((pid) => pid > 0),
    );
  }

  /**
   * Kills everything in the cgroup in one stroke, after this process has left it. A kernel before 5.14 can only freeze
   * it, so that nothing in it starts anything more; a signal that kills still reaches what is frozen.
   */
  kill(folder: string): void {
    if (!this.#leave(folder)) return;
    if (!write(join(folder, "cgroup.kill"), "1")) write(join(folder, "cgroup.freeze"), "1");
  }

  /** Removes the empty cgroup, after this process has left it. One that can't be removed is left. */
  async remove(folder: string): Promise<void> {
    if (!this.#leave(folder)) return;
    for (let tried = 0; tried < removal.tries; tried += 1) {
      if (removed([...subfolders(folder).toReversed(), folder])) return;
      await pause(removal.pause);
    }
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

const prefix = "pipeline-runs-";

function nameOf(runId: string): string {
  return `${prefix}${runId}`;
}

/** Removes what stayed where service and runner were killed together and their data deleted. What isn't empty stays. */
function removeLeft(own: string): void {
  const left = foldersIn(own).filter(
    (folder) => basename(folder).startsWith(prefix) && ageOf(folder) > leftAfter,
  );
  for (const folder of left) removed([...subfolders(folder).toReversed(), folder]);
}

function ageOf(folder: string): number {
  const made = statSync(folder, { throwIfNoEntry: false })?.mtimeMs;
  return made === undefined ? 0 : Date.now() - made;
}

/** Every folder below, parents before what is in them. */
function subfolders(folder: string): readonly string[] {
  return foldersIn(folder).flatMap((path) => [path, ...subfolders(path)]);
}

function foldersIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => join(folder, name));
  } catch {
    // It has been removed meanwhile.
    return [];
  }
}

function removed(folders: readonly string[]): boolean {
  return folders
    .map((folder) => {
      try {
        rmdirSync(folder);
        return true;
      } catch (error) {
        return error instanceof Error && "code" in error && error.code === "ENOENT";
      }
    })
    .every((isGone) => isGone);
}

function write(path: string, text: string): boolean {
  try {
    // Not made when it is missing: the kernel makes the files of a cgroup.
    writeFileSync(path, text, { flag: "r+" });
    return true;
  } catch {
    return false;
  }
}

/** Empty when it is gone, or a part of a process (a threaded cgroup), whose processes its parent tells. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENODEV" || code === "EOPNOTSUPP" || code === "ENOTSUP") return "";
    throw error;
  }
}

/**
 * The folder of this process's own cgroup in the v2 hierarchy, which may be the only one or stand beside those of v1.
 *
 * @param mountinfo what `/proc/self/mountinfo` holds.
 * @param membership what `/proc/self/cgroup` holds.
 * @returns undefined where there is no v2 hierarchy, or this process's place in it isn't mounted here.
 */
export function ownCgroup(mountinfo: string, membership: string): string | undefined {
  const own = /^0::(\/.*)$/m.exec(membership)?.[1];
  if (own === undefined) return undefined;
  // Seen from a namespace of its own, a process may be outside of what it sees.
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

/** Where the v2 hierarchy is mounted (proc_pid_mountinfo(5): the kind stands behind a lone dash). */
export function cgroupMounts(mountinfo: string): readonly CgroupMount[] {
  return mountinfo.split("\n").flatMap((line): CgroupMount[] => {
    const [mount = "", kind = ""] = line.split(" - ");
    const [, , , root, folder] = mount.split(" ");
    if (root === undefined || folder === undefined || !kind.startsWith("cgroup2 ")) return [];
    return [{ root: unescaped(root), folder: unescaped(folder) }];
  });
}

/** Spaces and the like stand in it as a backslash and three octal digits. */
function unescaped(path: string): string {
  return path.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
