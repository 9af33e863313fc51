import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { followRun } from "../../src/client/follow/followRun.ts";
import { ServiceClient } from "../../src/client/service/client.ts";
import type { Role } from "../../src/contract/keys.ts";
import type { Run, StartRequest } from "../../src/contract/run.ts";
import { toWire } from "../../src/contract/wire.ts";
import { type Clock, systemClock } from "../../src/machine/clock.ts";
import { lineLog } from "../../src/machine/log.ts";
import { runFolder } from "../../src/service/runs/runLogs.ts";
import { type ServeOptions, type Serving, serve } from "../../src/service/server.ts";
import { idMaker } from "../../src/service/store/ids.ts";
import { createKey } from "../../src/service/store/keys.ts";
import { openDatabase } from "../../src/service/store/openDatabase.ts";
import type { Database } from "../../src/service/store/tables.ts";
import { FakeClock } from "../clock/fakeClock.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";
import { until } from "../until.ts";
import { lateRunnerPath } from "./programs.ts";

export const pageFolder = join(import.meta.dirname, "../../dist/page");
const never = new AbortController().signal;

/** A program that ends only when it is ended. */
export const untilCancelled = "setInterval(() => {}, 1e6);";

/** What these two do costs a fortieth where it needs no Node.js: most runs of tests are nothing else. */
const plain: Readonly<Record<string, readonly string[]>> =
  process.platform === "win32" ? {} : { "": ["true"], [untilCancelled]: ["sleep", "1000000"] };

/** A pipeline of one step, which is a program in JavaScript, so that it is the same on every system. */
export function programPipeline(code: string, timeLimit = "30s"): string {
  return [
    `time-limit: ${timeLimit}`,
    "resources:",
    "  shell: { type: cli }",
    "steps:",
    "  - name: only",
    "    use: shell",
    `    run: ${JSON.stringify(plain[code] ?? [process.execPath, "-e", code])}`,
    "",
  ].join("\n");
}

/** A program that ends once the file is there, looked for in its project's folder unless the path is absolute. */
export function untilFile(file: string, exitCode = 0): string {
  return `setInterval(() => require('node:fs').existsSync(${JSON.stringify(file)}) && process.exit(${exitCode}), 10);`;
}

/** Writes the program's process id into the project's folder. */
export const writePid = writePidTo("pid");

/** The same into a file, also for a run that isn't in the project's folder. */
export function writePidTo(file: string): string {
  return `require('node:fs').writeFileSync(${JSON.stringify(file)}, String(process.pid));`;
}

type Options = Partial<
  Pick<ServeOptions, "clock" | "graceMilliseconds" | "idleSeconds" | "retention" | "runnerPath" | "version">
>;

/** The service as a test sees it, whatever its database. */
export type Service = Awaited<ReturnType<typeof servedAt>>;

/** Puts the lines of a run's log, and what is in its artifacts, where the service has them. */
type PutFiles = (
  runId: string,
  log: readonly string[],
  artifacts: readonly { readonly file: string; readonly content: string | Uint8Array }[],
) => Promise<void>;

/** Where a service is, and what differs there. */
export interface ServicePlace extends AsyncDisposable {
  readonly putFiles: PutFiles;
  readonly db: Database;
  readonly clock: Clock;
  readonly logged: string[];
  serve(): Promise<{ readonly url: string; stop(): Promise<void> }>;
  client?(url: string, apiKey: string, root: string): ServiceClient;
  /** The start request as a face sends it in the project's folder. */
  complete?(request: StartRequest, root: string): Promise<StartRequest>;
  /** Makes the project's folder known where it has to be. */
  addProject?(client: ServiceClient, root: string): Promise<void>;
  /** The time of day of its database where that is no file. */
  setTime?(milliseconds: number): Promise<void>;
  /** Ends the runs that would outlive the service. */
  endRuns?(): Promise<void>;
}

/** A service in this process, and a project in a folder of its own. */
export async function servedAt(place: ServicePlace) {
  const project = await TemporaryFolder.make();
  await mkdir(join(project.path, "pipelines"));
  const { db, clock, logged } = place;
  const makeId = idMaker(clock.now);
  let serving = await place.serve();

  const service = {
    project: { name: basename(project.path), root: project.path },
    ...{ db, logged },
    get url() {
      return serving.url;
    },
    stop: () => serving.stop(),
    async restart() {
      await serving.stop();
      serving = await place.serve();
    },
    async key(role: Role = "member", orgName = "acme") {
      return createKey(db, { orgName, role }, { now: clock.now, makeId });
    },
    putFiles: (...files: Parameters<PutFiles>) => place.putFiles(...files),
    client(apiKey: string): ServiceClient {
      const url = `${serving.url}/`;
      return (
        place.client?.(url, apiKey, project.path) ?? new ServiceClient({ baseUrl: new URL(url), apiKey })
      );
    },
    /** Writes a pipeline file of the project. */
    write: (name: string, text: string) => writeFile(join(project.path, "pipelines", `${name}.yaml`), text),
    /** Makes the project known to an org. */
    addProject: (client: ServiceClient) => place.addProject?.(client, project.path),
    /** A member's client of a new org that knows the project. */
    async member() {
      const key = await service.key();
      const client = service.client(key.secret);
      await service.addProject(client);
      return { ...key, client };
    },
    /** The body of a request that starts a pipeline of the project, for what a client would not send. */
    async startBody(pipeline: string, more: object = {}) {
      const request = (await place.complete?.({ pipeline }, project.path)) ?? { pipeline };
      return JSON.stringify(Object.assign({}, toWire(request), more));
    },
    /** One request as it is, for what a client would not send. */
    fetch: (path: string, init: RequestInit = {}) => fetch(`${serving.url}${path}`, init),
    /** Lets so many milliseconds pass on a service with a `FakeClock`. */
    async turn(milliseconds: number) {
      assert(clock instanceof FakeClock);
      await place.setTime?.(clock.now() + milliseconds);
      clock.advance(milliseconds);
    },
    /** Sets the time of day there. */
    async set(instant: string) {
      assert(clock instanceof FakeClock);
      await place.setTime?.(Date.parse(instant));
      clock.set(instant);
    },
    async [Symbol.asyncDispose]() {
      await place.endRuns?.();
      await serving.stop();
      await place[Symbol.asyncDispose]();
      await project[Symbol.asyncDispose]();
    },
  };
  return service;
}

/** A real service on a free port, with a database in a folder of its own; its runs are real processes. */
export async function startedService(options: Options = {}) {
  const data = await TemporaryFolder.make();
  const clock: Clock = options.clock ?? systemClock;
  const logged: string[] = [];
  const start = async () => {
    const serving = await serve({
      folder: data.path,
      port: 0,
      runnerPath: lateRunnerPath,
      pageFolder,
      env: process.env,
      log: lineLog((line) => logged.push(line), clock.now, "debug"),
      graceMilliseconds: 500,
      ...options,
    });
    if (serving === "taken") throw new Error("the folder is served already");
    return serving;
  };
  // It makes the database.
  let first: Serving | undefined = await start();
  const db = await openDatabase(data.path);
  const service = await servedAt({
    ...{ db, clock, logged },
    async serve() {
      const serving = first ?? (await start());
      first = undefined;
      return serving;
    },
    async putFiles(runId, log, artifacts) {
      const folder = runFolder(data.path, runId);
      await mkdir(folder.artifacts, { recursive: true });
      await writeFile(folder.log, log.map((line) => `${line}\n`).join(""));
      for (const { file, content } of artifacts) await writeFile(join(folder.artifacts, file), content);
    },
    addProject: async (client, root) => void (await client.putProject(basename(root), root, never)),
    async [Symbol.asyncDispose]() {
      await db.destroy();
      await data[Symbol.asyncDispose]();
    },
  });
  return Object.assign(service, { data: data.path });
}

/** Resolves once a service that has just started has done for the first time what it does again and again. */
export async function atRest(clock: FakeClock): Promise<void> {
  // It removes old files; it looks for its data folder, and for runs that nobody holds.
  await until(async () => clock.alarmsIn(3_600_000) === 1 && clock.alarmsIn(10_000) === 2);
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
export function writtenPid(file: string): Promise<number> {
  return until(async () => Number(await readFile(file, "utf8").catch(() => "")) || undefined);
}
