import { chown, mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { ServiceClient } from "../../src/client/service/client.ts";
import { idMaker } from "../../src/service/store/ids.ts";
import { createKey } from "../../src/service/store/keys.ts";
import { openDatabase } from "../../src/service/store/openDatabase.ts";
import type { Database } from "../../src/service/store/tables.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";
import { startedProgram } from "./startedProgram.ts";

const never = new AbortController().signal;

export interface Limits {
  readonly parallelRuns: number;
  readonly runsPerDay: number;
}

/** A member's key of an org with these limits, which is made when there is none of that name. */
export async function limitedKey(db: Database, orgName: string, limits: Limits, now = Date.now) {
  const key = await createKey(db, { orgName, role: "member" }, { now, makeId: idMaker(now) });
  await db
    .updateTable("orgs")
    .set({ parallel_runs: limits.parallelRuns, runs_per_day: limits.runsPerDay })
    .where("id", "=", key.orgId)
    .execute();
  return key;
}

/** A real service in a process of its own, which a test may kill; its project, and its data folder unless it is given
 * one, are new and outlive it. */
export async function servedProcess(
  options: {
    readonly data?: string;
    readonly environment?: Readonly<Record<string, string>>;
    /** The id of the user, and of the group, that the service runs as, where that is another than this one. */
    readonly user?: number | undefined;
  } = {},
) {
  const ownData = await TemporaryFolder.make();
  const data = options.data ?? ownData.path;
  const project = await TemporaryFolder.make();
  await mkdir(join(project.path, "pipelines"));
  const { user } = options;
  if (user !== undefined) for (const path of [data, project.path]) await chown(path, user, user);
  let program: Awaited<ReturnType<typeof startedProgram>> | undefined;
  let log = "";

  const start = async (): Promise<void> => {
    const words = ["serve", data, ...(user === undefined ? [] : [String(user)])];
    program = await startedProgram(words, options.environment);
  };
  const kill = async (): Promise<void> => {
    if (!program?.isRunning) return;
    await program[Symbol.asyncDispose]();
    log += program.log;
  };
  await start();
  const db = await openDatabase(data);

  return {
    data,
    db,
    start,
    kill,
    get pid() {
      return program?.pid;
    },
    get isRunning() {
      return program?.isRunning ?? false;
    },
    /** What the service has logged. */
    get log() {
      return program?.isRunning ? log + program.log : log;
    },
    /** A member's key of an org that knows the project. */
    async member(orgName: string, limits: Limits) {
      const key = await limitedKey(db, orgName, limits);
      /** A client of the service where it is now. */
      const client = () =>
        new ServiceClient({ baseUrl: new URL(`${program?.firstLine}/`), apiKey: key.secret });
      await client().putProject(basename(project.path), project.path, never);
      return { ...key, client, limits };
    },
    write: (name: string, text: string) => writeFile(join(project.path, "pipelines", `${name}.yaml`), text),
    rows: () => db.selectFrom("runs").selectAll().orderBy("id").execute(),
    async [Symbol.asyncDispose]() {
      await kill();
      await db.destroy();
      await ownData[Symbol.asyncDispose]();
      await project[Symbol.asyncDispose]();
    },
  };
}
