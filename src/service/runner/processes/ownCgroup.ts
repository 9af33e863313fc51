import { posix } from "node:path";

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
