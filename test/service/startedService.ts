import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { followRun } from "../../src/client/follow/followRun.ts";
import { ServiceClient } from "../../src/client/service/client.ts";
import { type Clock, systemClock } from "../../src/contract/clock.ts";
import type { Role } from "../../src/contract/roles.ts";
import type { Run } from "../../src/contract/run.ts";
import { lineLog } from "../../src/service/log.ts";
import { type ServeOptions, serve } from "../../src/service/server.ts";
import { idMaker } from "../../src/service/store/ids.ts";
import { createKey } from "../../src/service/store/keys.ts";
import { openDatabase } from "../../src/service/store/openDatabase.ts";
import type { Database } from "../../src/service/store/tables.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";
import { runnerPath } from "./runnerPath.ts";

const pageFolder = join(import.meta.dirname, "../../dist/page");
const never = new AbortController().signal;

/** A pipeline of one step, which is a program in JavaScript, so that it is the same on every system. */
export function programPipeline(code: string, timeLimit = "30s"): string {
  return [
    `time-limit: ${timeLimit}`,
    "resources:",
    "  shell: { type: cli }",
    "steps:",
    "  - name: only",
    "    use: shell",
    `    run: ${JSON.stringify([process.execPath, "-e", code])}`,
    "",
  ].join("\n");
}

/** A program that ends only when it is ended. */
export const untilCancelled = "setInterval(() => {}, 1e6);";

/** Writes the program's process id into the project's folder. */
export const writePid = "require('node:fs').writeFileSync('pid', String(process.pid));";

/**
 * A real service in this process, on a free port, with a database and a project in folders of its own; its runs are
 * real processes.
 */
export async function startedService(
  options: Partial<
    Pick<ServeOptions, "clock" | "graceMilliseconds" | "idleSeconds" | "retention" | "runnerPath" | "version">
  > = {},
) {
  const data = await TemporaryFolder.make();
  const project = await TemporaryFolder.make();
  const clock: Clock = options.clock ?? systemClock;
  await mkdir(join(project.path, "pipelines"));
  const logged: string[] = [];
  const start = async () => {
    const serving = await serve({
      folder: data.path,
      port: 0,
      runnerPath,
      pageFolder,
      env: process.env,
      log: lineLog((line) => logged.push(line), clock.now, "debug"),
      graceMilliseconds: 500,
      ...options,
    });
    if (serving === "taken") throw new Error("the folder is served already");
    return serving;
  };
  let serving = await start();
  const db: Database = await openDatabase(data.path);
  const makeId = idMaker(clock.now);

  const service = {
    data: data.path,
    project: { name: basename(project.path), root: project.path },
    db,
    logged,
    get url() {
      return serving.url;
    },
    stop: () => serving.stop(),
    async restart() {
      await serving.stop();
      serving = await start();
    },
    async key(role: Role = "member", orgName = "acme") {
      return createKey(db, { orgName, role }, { now: clock.now, makeId });
    },
    client: (apiKey: string) => new ServiceClient({ baseUrl: new URL(`${serving.url}/`), apiKey }),
    /** Writes a pipeline file of the project. */
    write: (name: string, text: string) => writeFile(join(project.path, "pipelines", `${name}.yaml`), text),
    /** A member's client of a new org that knows the project. */
    async member() {
      const key = await service.key();
      const client = service.client(key.secret);
      await client.putProject(service.project.name, service.project.root, never);
      return { ...key, client };
    },
    /** One request as it is, for what a client would not send. */
    fetch: (path: string, init: RequestInit = {}) => fetch(`${serving.url}${path}`, init),
    async [Symbol.asyncDispose]() {
      await serving.stop();
      await db.destroy();
      await data[Symbol.asyncDispose]();
      await project[Symbol.asyncDispose]();
    },
  };
  return service;
}

let requests = 0;

/** Starts a run, which must be granted. */
export async function started(client: ServiceClient, pipeline: string, waitSeconds = 0): Promise<Run> {
  const attempt = await client.start(
    { pipeline },
    { waitSeconds, idempotencyKey: `request-${requests++}` },
    never,
  );
  if (attempt.kind !== "started") throw new Error(`refused with scope ${attempt.refusal.scope}`);
  return attempt.run;
}

/** The run once it has stopped. */
export function ended(client: ServiceClient, run: Pick<Run, "runId">): Promise<Run> {
  return followRun(client, run, () => {}, never);
}

/** The process id that a step has written, once it is there. */
export async function writtenPid(file: string): Promise<number> {
  for (;;) {
    const pid = Number(await readFile(file, "utf8").catch(() => ""));
    if (pid > 0) return pid;
  }
}
