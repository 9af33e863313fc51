import { chmod, lstat, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import type { Log } from "../../machine/log.ts";
import { endLeftovers } from "../../runner/processes/endProcesses.ts";
import type { ProcessTable } from "../../runner/processes/processTable.ts";
import type { RunnerIdentity } from "../../runner/processes/runCgroups.ts";

const prefix = "pipeline-runner-";

interface FolderDeps {
  readonly processes: ProcessTable;
  /** From SIGTERM to SIGKILL. */
  readonly graceMilliseconds: number;
  readonly log: Log;
  /** Where the folders of this machine's runners are; the system's folder for temporary files by default. */
  readonly parent?: string;
  readonly pid?: number;
}

/**
 * Makes a new folder for what a runner's runs need. Ends the runs that killed runners of this user have left on this machine,
 * and removes their folders. A folder notes its owner's process with its start time, since process ids are reused.
 */
export async function machineFolder(deps: FolderDeps): Promise<string> {
  const { processes, log, parent = tmpdir(), pid = process.pid } = deps;
  const ownerOf = async (id: number) => `${hostname()} ${id} ${(await processes.birthOf(id)) ?? ""}`;
  for (const name of await readdir(parent)) {
    if (!name.startsWith(prefix)) continue;
    const path = join(parent, name);
    try {
      const owner = await readFile(join(path, "owner"), "utf8");
      const [host = "", id = ""] = owner.split(" ");
      // Nothing is known of the processes of another machine or container with the same folder.
      if (host !== hostname() || owner === (await ownerOf(Number(id)))) continue;
      if ((await lstat(path)).uid !== process.getuid?.()) continue;
    } catch {
      // Ignored: it is just being made, or somebody else's.
      continue;
    }
    try {
      await endRuns(path, deps);
      await removeFolder(path, log);
    } catch (error) {
      log("warn", "what a killed runner has left can't be ended", { path, error });
    }
  }
  const folder = await mkdtemp(join(parent, prefix));
  await writeFile(join(folder, "owner"), await ownerOf(pid));
  return folder;
}

/** The file in a run's folder, which is named by the run's id, that identifies the run's own process. */
const identityFile = "process";

/** Notes a run's own process in the run's folder, so that its leftovers are found if it and this runner are both killed. */
export async function noteProcess(folder: string, { pid, birth }: RunnerIdentity): Promise<void> {
  await writeFile(join(folder, identityFile), `${pid} ${birth}`);
}

/** Ends what is left of a killed runner's runs. Each run's own process does so, unless it was killed as well. */
async function endRuns(folder: string, deps: FolderDeps): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  const runIds = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  await Promise.all(
    runIds.map(async (runId) => {
      const text = await readFile(join(folder, runId, identityFile), "utf8").catch(() => "");
      const [, pid, birth] = /^(\d+) (.+)$/.exec(text) ?? [];
      const runner = birth === undefined ? undefined : { pid: Number(pid), birth };
      await endLeftovers({ runId, runner }, deps);
    }),
  );
}

/**
 * Removes a folder that steps have written into. Never rejects: what can't be removed is logged, and left to the system's own
 * cleaning.
 */
export async function removeFolder(path: string, log: Log): Promise<void> {
  const remove = () => rm(path, { recursive: true, force: true, maxRetries: 3 });
  try {
    await remove().catch(async () => {
      await makeWritable(path);
      await remove();
    });
  } catch (error) {
    log("warn", "a folder can't be removed", { path, error });
  }
}

/** Nothing can be removed from a read-only folder, except by root. */
async function makeWritable(folder: string): Promise<void> {
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await makeWritable(join(folder, entry.name));
  }
}
