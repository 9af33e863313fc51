import assert from "node:assert/strict";
import { ServiceClient } from "../../src/client/service/client.ts";
import { parseBaseUrl } from "../../src/client/service/request.ts";
import { everyOrgName, type Role } from "../../src/contract/keys.ts";
import type { Run } from "../../src/contract/run.ts";
import { systemClock } from "../../src/machine/clock.ts";
import { RunnerApi } from "../../src/team/runnerMachine/runnerApi.ts";
import type { ServingDatabase } from "../../src/team/serveDatabase.ts";
import { openPostgres } from "../../src/team/store/openPostgres.ts";
import type { LentDatabase } from "../postgres/lentDatabases.ts";
import { Shared } from "../service/serviceOn.ts";
import { until } from "../until.ts";

const never = new AbortController().signal;

/** Two servers of one database, the keys of a team, and runners. */
export class Team extends Shared {
  readonly servers: ServingDatabase[] = [];
  memberKey = "";
  #runnerKey = "";

  /** @param database that is given back, or an address where one is. */
  static async make(
    database: LentDatabase | string,
    options: ConstructorParameters<typeof Shared>[1] = {},
  ): Promise<Team> {
    const team = new Team(typeof database === "string" ? await opened(database) : database, options);
    for (let count = 0; count < 2; count++) team.servers.push(await team.serveAt(0));
    team.memberKey = await team.key("member");
    team.#runnerKey = await team.key("runner", everyOrgName);
    return team;
  }

  override key(role: Role, orgName = "team"): Promise<string> {
    return super.key(role, orgName);
  }

  async orgId(): Promise<string> {
    const orgs = this.db.selectFrom("orgs").select("id").where("name", "=", "team");
    return (await orgs.executeTakeFirstOrThrow()).id;
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

  startRunner(): Promise<void> {
    return this.run(`${this.servers[1]?.url}/`, { label: "test machine" });
  }

  async start(
    server: number,
    command: string,
    { waitSeconds = 0, apiKey = this.memberKey } = {},
  ): Promise<Run> {
    const text = `resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: ${command}\n`;
    const definition = { path: "pipelines/hello.yaml", text };
    const attempt = await this.clientWith(server, apiKey).start(
      { pipeline: "hello", project: "shop", definition },
      { idempotencyKey: crypto.randomUUID(), waitSeconds },
      never,
    );
    assert(attempt.kind === "started");
    return attempt.run;
  }

  ended(server: number, runId: string): Promise<Run> {
    return until(async () => {
      const run = await this.client(server).run(runId, never);
      return run.stoppedAt !== undefined && run;
    });
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
    await this.db.updateTable("runs").set({ lease_until: 1 }).where("id", "=", runId).execute();
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.drained();
    await Promise.all(this.servers.map((server) => server.stop()));
    await super[Symbol.asyncDispose]();
  }
}

async function opened(url: string): Promise<LentDatabase> {
  const { db } = await openPostgres(url, () => {});
  return { url, db, [Symbol.asyncDispose]: () => db.destroy() };
}
