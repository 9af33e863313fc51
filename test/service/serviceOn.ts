import { basename } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { ServiceClient } from "../../src/client/service/client.ts";
import { everyOrgName, type Role } from "../../src/contract/keys.ts";
import type { StartRequest } from "../../src/contract/run.ts";
import { type Clock, systemClock } from "../../src/machine/clock.ts";
import { lineLog } from "../../src/machine/log.ts";
import { projectFiles } from "../../src/project/pipelineFiles.ts";
import { idMaker } from "../../src/service/store/ids.ts";
import { createKey } from "../../src/service/store/keys.ts";
import type { RunnerMachineOptions } from "../../src/team/runnerMachine/runnerMachine.ts";
import { type ServingDatabase, serveDatabase } from "../../src/team/serveDatabase.ts";
import type { ObjectStoreSettings } from "../../src/team/store/objectStore.ts";
import { aliveMilliseconds } from "../../src/team/store/servers.ts";
import type { FakeClock } from "../clock/fakeClock.ts";
import { type LentDatabase, setDatabaseClock } from "../postgres/lentDatabases.ts";
import type { Store } from "./onBoth.ts";
import { parserPath } from "./programs.ts";
import { pageFolder, type Service, type ServicePlace, servedAt, startedService } from "./startedService.ts";
import { runRunner } from "./testRunner.ts";

interface Options {
  /** On PostgreSQL the database's time is the test's too; the runner's isn't. */
  readonly clock?: FakeClock;
  /** On PostgreSQL, where the files of ended runs are moved. */
  readonly objectStore?: ObjectStoreSettings | undefined;
  readonly graceMilliseconds?: number;
}

/** A real service on either database. On PostgreSQL it is a server and, once a run is started, a runner. */
export async function serviceOn(store: Store, options: Options = {}): Promise<Service> {
  if (store.kind === "SQLite") return startedService(options);
  const lent = await store.lend();
  if (options.clock !== undefined) await setDatabaseClock(lent.db, { at: options.clock.now() });
  return servedAt(new SharedPlace(lent, options));
}

/** A database that servers share, and runners in this process. */
export class Shared implements AsyncDisposable {
  readonly db: LentDatabase["db"];
  readonly clock: Clock;
  readonly logged: string[] = [];
  readonly #lent: LentDatabase;
  readonly #options: Options;
  readonly #log = lineLog((line) => this.logged.push(line), Date.now, "debug");
  readonly #draining = new AbortController();
  readonly #runners: Promise<void>[] = [];

  constructor(lent: LentDatabase, options: Options = {}) {
    this.db = lent.db;
    this.clock = options.clock ?? systemClock;
    this.#lent = lent;
    this.#options = options;
  }

  /** @param port 0 for any that is free. */
  async serveAt(port: number): Promise<ServingDatabase> {
    const { url } = this.#lent;
    const { clock, objectStore } = this.#options;
    const places = { url, host: "127.0.0.1", port, pageFolder, parserPath, objectStore };
    const server = await serveDatabase({ ...places, clock, retentionDays: 30, log: this.#log });
    let stopped: Promise<void> | undefined;
    return { url: server.url, stop: () => (stopped ??= server.stop()) };
  }

  async key(role: Role, orgName: string): Promise<string> {
    const { now } = this.clock;
    return (await createKey(this.db, { orgName, role }, { now, makeId: idMaker(now) })).secret;
  }

  /** Resolves once the service knows the runner. */
  async run(url: string, others: Partial<RunnerMachineOptions> = {}): Promise<void> {
    const apiKey = await this.key("runner", everyOrgName);
    const { promise: registered, resolve } = Promise.withResolvers<unknown>();
    const { graceMilliseconds = 500 } = this.#options;
    const options = { log: this.#log, graceMilliseconds, onRegistered: resolve, ...others };
    const running = runRunner({ url, apiKey }, this.#draining.signal, options);
    this.#runners.push(running);
    await Promise.race([registered, running]);
  }

  /** Tells the runners to end once their runs have. */
  drain(): void {
    this.#draining.abort();
  }

  /** The runners have ended. */
  async drained(): Promise<void> {
    this.drain();
    await Promise.all(this.#runners);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drained();
    await this.#lent[Symbol.asyncDispose]();
  }
}

class SharedPlace extends Shared implements ServicePlace {
  #url = "";
  #runner: Promise<void> | undefined;

  async serve(): Promise<ServingDatabase> {
    // Its runner knows it by its address.
    const server = await this.serveAt(Number(new URL(this.#url || "http://localhost:0").port));
    this.#url = server.url;
    return server;
  }

  async putFiles(...[runId, log, artifacts]: Parameters<ServicePlace["putFiles"]>): Promise<void> {
    const chunk = { run_id: runId, first: 1, lines: log.join("\n") };
    if (log.length > 0) await this.db.insertInto("log_chunks").values(chunk).execute();
    for (const { file, content } of artifacts) {
      const row = { run_id: runId, file, content: Buffer.from(content) };
      await this.db.insertInto("artifact_contents").values(row).execute();
    }
  }

  client(url: string, apiKey: string, root: string): ServiceClient {
    return new ProjectClient(new URL(url), apiKey, (request) => this.complete(request, root));
  }

  async complete(request: StartRequest, root: string): Promise<StartRequest> {
    this.#runner ??= this.run(`${this.#url}/`, { slots: 4 });
    const file = (await projectFiles(root)).find(({ name }) => name === request.pipeline);
    if (file?.text === undefined) return request;
    return { project: basename(root), definition: { path: file.path, text: file.text }, ...request };
  }

  /** And its servers say that they live, as they do again and again. */
  async setTime(at: number): Promise<void> {
    await setDatabaseClock(this.db, { at });
    await this.db
      .updateTable("servers")
      .set({ alive_until: at + aliveMilliseconds })
      .execute();
  }

  /** A drain waits for them. */
  async endRuns(): Promise<void> {
    if (this.#runner === undefined) return;
    this.drain();
    const keys = new Map<string, string>();
    for (;;) {
      const active = await this.db
        .selectFrom("runs")
        .innerJoin("orgs", "orgs.id", "runs.org_id")
        .select(["runs.id", "orgs.name"])
        .where("stopped_at", "is", null)
        .execute();
      if (active.length === 0) return;
      for (const { id, name } of active) {
        const key = keys.get(name) ?? (await this.key("member", name));
        keys.set(name, key);
        await fetch(`${this.#url}/api/runs/${id}/cancel`, { method: "POST", headers: { "x-api-key": key } });
      }
      await pause(20);
    }
  }
}

/** Sends the pipeline's text with each start, as a face does to a service that has no folder. */
class ProjectClient extends ServiceClient {
  readonly #complete: (request: StartRequest) => Promise<StartRequest>;

  constructor(baseUrl: URL, apiKey: string, complete: (request: StartRequest) => Promise<StartRequest>) {
    super({ baseUrl, apiKey });
    this.#complete = complete;
  }

  override async start(...[request, options, signal]: Parameters<ServiceClient["start"]>) {
    return super.start(await this.#complete(request), options, signal);
  }
}
