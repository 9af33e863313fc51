import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chown, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { ServiceClient } from "../../src/client/service/client.ts";
import { runMarker } from "../../src/service/runner/processes/processTable.ts";
import { idMaker } from "../../src/service/store/ids.ts";
import { createKey } from "../../src/service/store/keys.ts";
import { openDatabase } from "../../src/service/store/openDatabase.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";

const program = fileURLToPath(new URL("./servedProgram.ts", import.meta.url));
const never = new AbortController().signal;

/** A real service in a process of its own, which a test may kill; its project, and its data folder unless it is given
 * one, are new and outlive it. */
export async function servedProcess(
  options: {
    readonly data?: string;
    readonly environment?: Readonly<Record<string, string>>;
    /** Of the service's own process, before its program. */
    readonly nodeArguments?: readonly string[];
    /** The id of the user, and of the group, that the service runs as, where that is another than this one. */
    readonly user?: number | undefined;
  } = {},
) {
  const ownData = await TemporaryFolder.make();
  const data = options.data ?? ownData.path;
  const project = await TemporaryFolder.make();
  await mkdir(join(project.path, "pipelines"));
  const { nodeArguments = [], user } = options;
  const identity = user === undefined ? {} : { uid: user, gid: user };
  if (user !== undefined) for (const path of [data, project.path]) await chown(path, user, user);
  /** In the environment of every process of this service and its runs. */
  const mark = randomUUID();
  let child: ChildProcess | undefined;
  let url = "";
  let errors = "";

  const start = async (): Promise<void> => {
    const said = errors.length;
    const started = spawn(process.execPath, [...nodeArguments, program, data], {
      ...identity,
      env: { ...process.env, ...options.environment, SERVED_MARK: mark },
      stdio: ["pipe", "pipe", "pipe"],
    });
    child = started;
    started.stderr.setEncoding("utf8").on("data", (text: string) => {
      errors += text;
    });
    const lines = createInterface({ input: started.stdout });
    const line = await Promise.race([once(lines, "line"), once(started, "exit").then(() => undefined)]);
    if (line === undefined) throw new Error(`the service did not start: ${errors.slice(said)}`);
    url = String(line[0]);
  };
  const kill = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  };
  await start();
  let db = await openDatabase(data);

  return {
    data,
    get db() {
      return db;
    },
    /** Closes the test's own connection, so that nothing but the service touches the database's files. */
    letGo: () => db.destroy(),
    /** Opens it again; the service has to run. */
    async takeUp() {
      db = await openDatabase(data);
    },
    start,
    kill,
    get pid() {
      return child?.pid;
    },
    get isRunning() {
      return child !== undefined && child.exitCode === null && child.signalCode === null;
    },
    /** What the service has logged. */
    get log() {
      return errors;
    },
    /** A member's key of an org that knows the project. */
    async member(orgName: string, limits: { parallelRuns: number; runsPerDay: number }) {
      const deps = { now: Date.now, makeId: idMaker(Date.now) };
      const key = await createKey(db, { orgName, role: "member" }, deps);
      await db
        .updateTable("orgs")
        .set({ parallel_runs: limits.parallelRuns, runs_per_day: limits.runsPerDay })
        .where("id", "=", key.orgId)
        .execute();
      /** A client of the service where it is now. */
      const client = () => new ServiceClient({ baseUrl: new URL(`${url}/`), apiKey: key.secret });
      await client().putProject(basename(project.path), project.path, never);
      return { ...key, client, limits };
    },
    write: (name: string, text: string) => writeFile(join(project.path, "pipelines", `${name}.yaml`), text),
    rows: () => db.selectFrom("runs").selectAll().orderBy("id").execute(),
    /** The ids of the runs that have living processes. */
    async runsWithProcesses(): Promise<Set<string>> {
      const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
      const ids = await Promise.all(
        pids.map(async (pid) => {
          const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
          const variables = environment.split("\0");
          if (!variables.includes(`SERVED_MARK=${mark}`)) return undefined;
          return variables
            .find((variable) => variable.startsWith(`${runMarker}=`))
            ?.slice(runMarker.length + 1);
        }),
      );
      return new Set(ids.filter((id) => id !== undefined));
    },
    async [Symbol.asyncDispose]() {
      await kill();
      await db.destroy();
      await ownData[Symbol.asyncDispose]();
      await project[Symbol.asyncDispose]();
    },
  };
}
