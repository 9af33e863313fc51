import assert from "node:assert/strict";
import { parseBaseUrl } from "../../../src/client/service/baseUrl.ts";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { systemClock } from "../../../src/contract/clock.ts";
import { everyOrg, type Role } from "../../../src/contract/roles.ts";
import type { Run } from "../../../src/contract/run.ts";
import type { Log, LogLevel } from "../../../src/service/log.ts";
import { RunnerApi } from "../../../src/service/runner/machine/runnerApi.ts";
import { runMachine } from "../../../src/service/runner/machine/runnerMachine.ts";
import { unpackSnapshot } from "../../../src/service/runner/machine/unpackSnapshot.ts";
import { type ServingDatabase, serveDatabase } from "../../../src/service/serveDatabase.ts";
import { idMaker } from "../../../src/service/store/ids.ts";
import { createKey } from "../../../src/service/store/keys.ts";
import { openPostgres } from "../../../src/service/store/postgres/openPostgres.ts";
import { lateRunnerPath } from "../runnerPath.ts";
import { pageFolder } from "../startedService.ts";
import { until } from "./until.ts";

const never = new AbortController().signal;

/** Two servers of one database, the keys of a team, and runners. */
export class Team implements AsyncDisposable {
  readonly servers: ServingDatabase[] = [];
  /** The levels of the lines in the servers' logs, by the routes that they are of. */
  readonly logged: { readonly level: LogLevel; readonly route: unknown }[] = [];
  memberKey = "";
  #runnerKey = "";
  readonly #url: string;
  readonly #lent: AsyncDisposable | undefined;
  readonly #draining = new AbortController();
  readonly #runners: Promise<void>[] = [];

  private constructor(url: string, lent: AsyncDisposable | undefined) {
    this.#url = url;
    this.#lent = lent;
  }

  /** @param lent disposed of once nobody uses the database any more. */
  static async make(url: string, lent?: AsyncDisposable): Promise<Team> {
    const team = new Team(url, lent);
    const log: Log = (level, _, facts) => void team.logged.push({ level, route: facts?.["route"] });
    const options = { url, host: "127.0.0.1", port: 0, retentionDays: 30, pageFolder, log };
    for (let count = 0; count < 2; count++) team.servers.push(await serveDatabase(options));
    team.memberKey = await team.key("member");
    team.#runnerKey = await team.key("runner", everyOrg);
    return team;
  }

  async key(role: Role, orgName = "team"): Promise<string> {
    const { db } = await openPostgres(this.#url, () => {});
    const { secret } = await createKey(db, { orgName, role }, { now: Date.now, makeId: idMaker(Date.now) });
    await db.destroy();
    return secret;
  }

  client(server: number): ServiceClient {
    return this.clientWith(server, this.memberKey);
  }

  clientWith(server: number, apiKey: string): ServiceClient {
    const baseUrl = parseBaseUrl(this.servers[server]?.url ?? "");
    return new ServiceClient({ baseUrl, apiKey, clock: systemClock });
  }

  runnerApi(server: number, apiKey = this.#runnerKey): RunnerApi {
    return new RunnerApi(this.clientWith(server, apiKey));
  }

  async startRunner(): Promise<void> {
    const api = this.runnerApi(1);
    const { promise: registered, resolve } = Promise.withResolvers<string>();
    this.#runners.push(
      runMachine(
        {
          ...{ api, clock: systemClock, log: () => {}, label: "test machine", slots: 1, isOnce: false },
          program: { execPath: process.execPath, runnerPath: lateRunnerPath, env: process.env },
          unpack: unpackSnapshot,
          onRegistered: resolve,
        },
        this.#draining.signal,
      ),
    );
    await registered;
  }

  async start(
    server: number,
    command: string,
    {
      waitSeconds = 0,
      apiKey = this.memberKey,
    }: { readonly waitSeconds?: number; readonly apiKey?: string } = {},
  ): Promise<Run> {
    const text = `resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: ${command}\n`;
    const request = {
      pipeline: "hello",
      project: "shop",
      definition: { path: "pipelines/hello.yaml", text },
    };
    const attempt = await this.clientWith(server, apiKey).start(
      request,
      { idempotencyKey: crypto.randomUUID(), waitSeconds },
      never,
    );
    assert(attempt.kind === "started");
    return attempt.run;
  }

  async ended(server: number, runId: string): Promise<Run> {
    await until(async () => (await this.client(server).run(runId, never)).stoppedAt !== undefined);
    return this.client(server).run(runId, never);
  }

  async log(server: number, runId: string): Promise<string> {
    const url = `${this.servers[server]?.url}/api/runs/${runId}/log?follow=false`;
    return (await fetch(url, { headers: { "x-api-key": this.memberKey } })).text();
  }

  async isTaken(runId: string): Promise<boolean> {
    return (await this.client(0).run(runId, never)).runner?.startsWith("test-machine") ?? false;
  }

  /** As if the runner had said nothing for so long. */
  async pastLease(runId: string): Promise<void> {
    const { db } = await openPostgres(this.#url, () => {});
    await db.updateTable("runs").set({ lease_until: 1 }).where("id", "=", runId).execute();
    await db.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#draining.abort();
    await Promise.all(this.#runners);
    await Promise.all(this.servers.map((server) => server.stop()));
    await this.#lent?.[Symbol.asyncDispose]();
  }
}
