import { lstat, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import type { ProcessTable } from "../processes/processTable.ts";

const prefix = "pipeline-runner-";

interface FolderDeps {
  readonly processes: Pick<ProcessTable, "birthOf">;
  /** Where the folders of this machine's runners are; the system's folder for temporary files by default. */
  readonly parent?: string;
  readonly pid?: number;
}

/**
 * Makes a new folder for what a runner's runs need, and removes those that killed runners of this user have left on this machine.
 * A folder has the name of its owner's process in it, with the time of its birth: process ids come again.
 */
export async function machineFolder({
  processes,
  parent = tmpdir(),
  pid = process.pid,
}: FolderDeps): Promise<string> {
  const ownerOf = async (id: number) => `${hostname()} ${id} ${(await processes.birthOf(id)) ?? ""}`;
  for (const name of await readdir(parent)) {
    if (!name.startsWith(prefix)) continue;
    const path = join(parent, name);
    try {
      const owner = await readFile(join(path, "owner"), "utf8");
      const [host = "", id = ""] = owner.split(" ");
      // Of another machine or container with the same folder nothing is known.
      if (host !== hostname() || owner === (await ownerOf(Number(id)))) continue;
      if ((await lstat(path)).uid !== process.getuid?.()) continue;
      await rm(path, { recursive: true, force: true, maxRetries: 3 });
    } catch {
      // Ignored: it is just being made, or somebody else's.
    }
  }
  const folder = await mkdtemp(join(parent, prefix));
  await writeFile(join(folder, "owner"), await ownerOf(pid));
  return folder;
}
