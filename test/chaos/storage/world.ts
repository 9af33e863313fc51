import { chmod, chown, copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { backupDatabase } from "../../../src/service/store/backupDatabase.ts";
import { servedProcess } from "../../service/servedProcess.ts";
import { programPipeline, untilCancelled } from "../../service/startedService.ts";
import type { Round } from "../round.ts";
import { type Disk, limitedDisk, mayMount, smallDisk } from "./disk.ts";

const nobody = 65_534;
const databaseFiles = ["runs.db", "runs.db-wal", "runs.db-shm"] as const;

/** A service process whose disk, clock and folder can be made to fail. */
export type World = Awaited<ReturnType<typeof openWorld>>;

/** @param variant decides what the disk is and as whom the service runs, where this user has the choice. */
export async function openWorld(round: Round, variant: number) {
  await using held = new AsyncDisposableStack();
  const isRoot = process.getuid?.() === 0;
  /** Root ignores folder permissions. */
  const user = isRoot && variant % 3 !== 0 ? nobody : undefined;
  const canClose = user !== undefined || !isRoot;
  const data = join(round.folder, "data");
  const clockFile = join(round.folder, "clock");
  const backupFile = join(round.folder, "backup.db");
  await mkdir(data, { mode: 0o700 });
  await chmod(round.folder, 0o711);
  await writeFile(clockFile, "0", { mode: 0o644 });
  const disk: Disk = held.use(variant % 2 === 0 && mayMount(data) ? smallDisk(data) : limitedDisk(data));
  round.trace("the world", { disk: disk.fault.source, user });
  const served = held.use(
    await servedProcess({
      data,
      environment: { ...round.environment, FAULTS_CLOCK_FILE: clockFile },
      nodeArguments: ["--import", join(import.meta.dirname, "setClock.mjs")],
      user,
    }),
  );
  let ahead = 0;
  let isClosed = false;

  const setFolder = async (mode: number) => {
    for (const path of [data, join(data, "runs")]) await chmod(path, mode).catch(() => undefined);
  };
  await served.write("quick", programPipeline(""));
  await served.write("loud", programPipeline("for (let n = 0; n < 40; n++) console.log(n, 'x'.repeat(100))"));
  await served.write("long", programPipeline(untilCancelled, "10m"));
  await served.write("short", programPipeline(untilCancelled, "2s"));
  const kept = held.move();

  return {
    served,
    disk,
    data,
    canClose,
    get isClosed() {
      return isClosed;
    },
    /** The service's time of day. */
    now: () => Date.now() + ahead,
    async setClock(by: number) {
      ahead += by;
      await writeFile(clockFile, String(ahead));
    },
    async closeFolder() {
      if (!canClose) return;
      isClosed = true;
      await setFolder(0o555);
    },
    async openFolder() {
      isClosed = false;
      await setFolder(0o700);
    },
    async backUp() {
      await rm(backupFile, { force: true });
      await backupDatabase(data, backupFile);
    },
    /** Restores a backup as docs/service-data.md says. No service runs meanwhile. */
    async restore() {
      for (const name of databaseFiles) await rm(join(data, name), { force: true });
      await copyFile(backupFile, join(data, "runs.db"));
      if (user !== undefined) await chown(join(data, "runs.db"), user, user);
    },
    /** Kills the service, and leaves its files as they are then: the test's own connection would tidy up as it closes. */
    async killAndLetGo() {
      await served.kill();
      const files = await Promise.all(
        databaseFiles.map(async (name) => ({
          name,
          bytes: await readFile(join(data, name)).catch(() => undefined),
        })),
      );
      await served.letGo();
      for (const { name, bytes } of files) {
        const path = join(data, name);
        if (bytes === undefined) continue;
        await writeFile(path, bytes, { mode: 0o600 });
        if (user !== undefined) await chown(path, user, user);
      }
    },
    /** @returns what the service printed if it did not start. */
    async tryStart(): Promise<string | undefined> {
      try {
        await served.start();
        return undefined;
      } catch (error) {
        return String(error);
      }
    },
    /** Gives what lies in the data folder to the user that the service runs as, also what a damage has put there. */
    async ownFiles() {
      if (user === undefined) return;
      for (const name of await readdir(data)) await chown(join(data, name), user, user);
    },
    /** What lies in the data folder, for a trace. */
    names: () => readdir(data),
    async [Symbol.asyncDispose]() {
      await served.kill();
      await setFolder(0o700);
      await kept[Symbol.asyncDispose]();
    },
  };
}
