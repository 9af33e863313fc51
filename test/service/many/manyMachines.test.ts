import assert from "node:assert/strict";
import { parseBaseUrl } from "../../../src/client/service/baseUrl.ts";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { systemClock } from "../../../src/contract/clock.ts";
import { everyOrg, type Role } from "../../../src/contract/roles.ts";
import type { Run } from "../../../src/contract/run.ts";
import { RunnerApi } from "../../../src/service/runner/machine/runnerApi.ts";
import { runMachine } from "../../../src/service/runner/machine/runnerMachine.ts";
import { unpackSnapshot } from "../../../src/service/runner/machine/unpackSnapshot.ts";
import { type ServingDatabase, serveDatabase } from "../../../src/service/serveDatabase.ts";
import { idMaker } from "../../../src/service/store/ids.ts";
import { createKey } from "../../../src/service/store/keys.ts";
import { openPostgres } from "../../../src/service/store/postgres/openPostgres.ts";
import { postgresFolder } from "../../postgres/installPostgres.ts";
import { postgresForSuite } from "../../postgres/postgresForSuite.ts";
import { runnerPath } from "../runnerPath.ts";
import { newDatabase } from "./sharedServers.ts";
import { until } from "./until.ts";

const never = new AbortController().signal;

describe("a service on many machines", function () {
  this.timeout(60_000);
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  const postgres = postgresForSuite(native);

  it("runs on a runner what was started on a server, and shows its log on another one", async () => {
    await using team = await Team.make(await newDatabase(postgres()));
    await team.startRunner();
    const run = await team.start(0, "echo hello from a runner");
    const ended = await team.ended(1, run.runId);
    assert.equal(ended.status, "succeeded", ended.reason);
    assert.match(ended.runner ?? "", /^test-machine_/);
    assert.match(await team.log(1, run.runId), /hello from a runner/);
    assert.equal((await team.client(0).org(never)).usage.runsToday, 1);
  });

  it("ends the processes of a run that is cancelled on another server, and starts who waits", async () => {
    await using team = await Team.make(await newDatabase(postgres()));
    await team.startRunner();
    const run = await team.start(0, "sleep 60");
    await until(() => team.isTaken(run.runId));
    const next = team.start(1, "echo next", 60);
    await team.client(1).cancel(run.runId, never);
    assert.equal((await team.ended(0, run.runId)).status, "cancelled");
    assert.equal((await team.ended(0, (await next).runId)).status, "succeeded");
  });

  it("ends a run as lost whose runner is silent past its lease, and hears no word of it any more", async () => {
    await using team = await Team.make(await newDatabase(postgres()));
    const run = await team.start(0, "echo never");
    const silent = team.runnerApi(0);
    const runnerId = await silent.register({ label: "silent", slots: 1 }, never);
    assert.equal((await silent.work(runnerId, [], 5, never))?.runId, run.runId);
    const next = team.start(1, "echo next", 60);
    await team.pastLease(run.runId);
    assert.equal((await team.ended(0, run.runId)).status, "lost");
    await assert.rejects(
      silent.sendMessages(
        { runId: run.runId, runnerId },
        1,
        [{ kind: "output", index: 0, at: new Date().toISOString(), stream: "stdout", text: "late\n" }],
        never,
      ),
      { type: "conflict" },
    );
    assert.equal(await team.log(0, run.runId), "");
    await team.startRunner();
    assert.equal((await team.ended(0, (await next).runId)).status, "succeeded");
  });

  it("hears nothing of a run from a runner that doesn't hold it", async () => {
    await using team = await Team.make(await newDatabase(postgres()));
    const run = await team.start(0, "echo mine");
    const [holder, liar] = [team.runnerApi(0), team.runnerApi(1, await team.key("runner", everyOrg))];
    const runnerId = await holder.register({ label: "holder", slots: 1 }, never);
    await holder.work(runnerId, [], 5, never);
    const lie = [{ kind: "ended", end: { kind: "succeeded" } }] as const;
    // Even with the holder's own id: it is the key that counts.
    await assert.rejects(liar.sendMessages({ runId: run.runId, runnerId }, 1, [...lie], never), {
      type: "conflict",
    });
    assert.deepEqual(await liar.heartbeat(runnerId, [run.runId], 0, never), { stop: [], gone: [run.runId] });
    assert.equal((await team.client(0).run(run.runId, never)).stoppedAt, undefined);
  });

  it("lets a runner's key take work and do nothing else, and gives no work to another's", async () => {
    await using team = await Team.make(await newDatabase(postgres()));
    const runner = team.clientWith(0, await team.key("runner", everyOrg));
    await assert.rejects(runner.org(never), { type: "forbidden" });
    await assert.rejects(runner.cancel("run_x", never), { type: "forbidden" });
    await assert.rejects(runner.hasSnapshot("0".repeat(64), never), { type: "forbidden" });
    const member = team.runnerApi(0, await team.key("member"));
    await assert.rejects(member.register({ label: "no runner", slots: 1 }, never), { type: "forbidden" });
  });

  it("gives a runner of one org only that org's runs", async () => {
    await using team = await Team.make(await newDatabase(postgres()));
    await team.start(0, "echo of the team");
    const other = team.runnerApi(0, await team.key("runner", "another org"));
    const runnerId = await other.register({ label: "other", slots: 1 }, never);
    assert.equal(await other.work(runnerId, [], 0, never), undefined);
  });

  it("answers 503 while its database is away, and then goes on", async () => {
    await using team = await Team.make(await newDatabase(postgres()));
    const { url } = team.servers[0] ?? assert.fail();
    assert.equal((await fetch(`${url}/readyz`)).status, 200);
    await postgres().stop();
    const away = await fetch(`${url}/readyz`);
    assert.equal(away.status, 503);
    assert.equal(away.headers.get("retry-after"), "1");
    const start = await fetch(`${url}/api/org`, { headers: { "x-api-key": team.memberKey } });
    assert.equal(start.status, 503, await start.text());
    await postgres().restart();
    await until(async () => (await fetch(`${url}/readyz`)).status === 200);
    assert.equal((await team.client(0).org(never)).usage.runsToday, 0);
  });
});

/** Two servers of one database, the keys of a team, and runners. */
class Team implements AsyncDisposable {
  readonly servers: ServingDatabase[] = [];
  memberKey = "";
  #runnerKey = "";
  readonly #url: string;
  readonly #draining = new AbortController();
  readonly #runners: Promise<void>[] = [];

  private constructor(url: string) {
    this.#url = url;
  }

  static async make(url: string): Promise<Team> {
    const team = new Team(url);
    const options = { url, host: "127.0.0.1", port: 0, retentionDays: 30, log: () => {} };
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
          program: { execPath: process.execPath, runnerPath, env: process.env },
          unpack: unpackSnapshot,
          onRegistered: resolve,
        },
        this.#draining.signal,
      ),
    );
    await registered;
  }

  async start(server: number, command: string, waitSeconds = 0): Promise<Run> {
    const text = `resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: ${command}\n`;
    const request = {
      pipeline: "hello",
      project: "shop",
      definition: { path: "pipelines/hello.yaml", text },
    };
    const attempt = await this.client(server).start(
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
  }
}
