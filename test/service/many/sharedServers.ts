import { randomUUID } from "node:crypto";
import pg from "pg";
import type { ServedRun } from "../../../src/contract/run.ts";
import type { EnterOutcome } from "../../../src/service/admission/waiter.ts";
import type { Runs } from "../../../src/service/runs/runs.ts";
import { openSharedCore, type SharedCore } from "../../../src/service/sharedCore.ts";
import { createKey } from "../../../src/service/store/keys.ts";
import { stopRun } from "../../../src/service/store/runs.ts";
import type { StartedPostgres } from "../../postgres/startedPostgres.ts";

/** The URL of a new, empty database on a server that is there for the suite. */
export async function newDatabase(postgres: StartedPostgres): Promise<string> {
  const user = `app:${encodeURIComponent(postgres.password)}`;
  const name = `t${randomUUID().replaceAll("-", "")}`;
  const client = new pg.Client({ connectionString: postgres.url({ user }) });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  return postgres.url({ user, database: name });
}

/** A start that was asked for, and what has come of it so far. */
export interface Asked {
  readonly server: number;
  readonly outcome: Promise<EnterOutcome>;
  settled: EnterOutcome | undefined;
  leave(): void;
}

/** Several servers below HTTP on one database. Their runs have no processes; whoever is granted one is told at once. */
export class SharedServers implements AsyncDisposable {
  readonly cores: SharedCore<Runs>[] = [];
  readonly #url: string;

  private constructor(url: string) {
    this.#url = url;
  }

  static async start(postgres: StartedPostgres, count: number): Promise<SharedServers> {
    const servers = new SharedServers(await newDatabase(postgres));
    for (let number = 0; number < count; number++) await servers.add();
    return servers;
  }

  async add(): Promise<void> {
    this.cores.push(
      await openSharedCore({
        url: this.#url,
        log: () => {},
        instance: randomUUID(),
        makeRuns: () => noProcesses,
      }),
    );
  }

  core(number: number): SharedCore<Runs> {
    const core = this.cores[number];
    if (core === undefined) throw new Error(`there is no server ${number}`);
    return core;
  }

  /** An org and its key. */
  async org(limits: { readonly runsPerDay?: number } = {}): Promise<{ orgId: string; keyId: string }> {
    const { db, makeId, clock } = this.core(0);
    const key = await createKey(db, { orgName: randomUUID(), role: "member" }, { now: clock.now, makeId });
    if (limits.runsPerDay !== undefined) {
      await db
        .updateTable("orgs")
        .set({ runs_per_day: limits.runsPerDay })
        .where("id", "=", key.orgId)
        .execute();
    }
    return key;
  }

  /** Asks a server for a start; a run that it grants is launched at once. */
  ask(
    server: number,
    { orgId, keyId }: { readonly orgId: string; readonly keyId: string },
    waitSeconds: number,
    idempotencyKey?: string,
  ): Asked {
    const { admission, db } = this.core(server);
    const leaving = new AbortController();
    const request = {
      ...{ orgId, actor: keyId, project: "shop", pipeline: "nightly", timeLimitSeconds: 30, idempotencyKey },
      work: { definition: { path: "pipelines/nightly.yaml", text: "steps: []" } },
    };
    const outcome = admission.enter(request, waitSeconds, leaving.signal);
    const asked: Asked = {
      server,
      outcome,
      settled: undefined,
      leave: () => leaving.abort(new Error("left")),
    };
    outcome.then(
      async (settled) => {
        asked.settled = settled;
        if (settled.kind === "started") {
          await db
            .updateTable("runs")
            .set({ launched_at: 1, holder: null, lease_until: null })
            .where("id", "=", settled.run.runId)
            .execute();
        }
      },
      () => {},
    );
    return asked;
  }

  /** Ends a run on a server, whichever has granted it. */
  async end(server: number, orgId: string, { runId }: Pick<ServedRun, "runId">): Promise<void> {
    const { admission, clock, bus } = this.core(server);
    await admission.release(orgId, (tx) =>
      stopRun(tx, runId, { status: "succeeded", reason: undefined }, clock.now()),
    );
    bus.emit(orgId, { kind: "org" });
  }

  /** As kill -9: nothing of the server goes on, and nothing that it holds in the database is given up. */
  async kill(server: number): Promise<void> {
    const core = this.core(server);
    Object.assign(core.admission, { tickets: () => [], readAnswer: async () => {} });
    await core.bus.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.cores.map((core) => core.close().catch(() => {})));
  }
}

const noProcesses: Runs = {
  count: 0,
  ids: () => new Set(),
  add: () => {},
  join: () => {},
  remove: () => {},
  isWithdrawn: () => false,
  prepare: () => {},
  launch: () => {},
  withdraw: () => {},
  cancel: async () => {},
  upToDate: (run) => run,
  stopAll: async () => {},
};
