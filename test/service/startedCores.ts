import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import { PipelineError } from "../../src/contract/errors.ts";
import {
  leaseSeconds,
  type RunnerEnd,
  type RunnerMessage,
  type StopReason,
} from "../../src/contract/runners.ts";
import { PostgresAdmission } from "../../src/team/admission/postgresAdmission.ts";
import type { RemoteRuns } from "../../src/team/runs/remoteRuns.ts";
import { openSharedCore, type SharedCore } from "../../src/team/sharedCore.ts";
import { notify, payloadOf } from "../../src/team/store/postgresBus.ts";
import { aliveMilliseconds, sweepServers } from "../../src/team/store/servers.ts";
import { shortenLeases, type TakenRun } from "../../src/team/store/work.ts";
import { type LentDatabase, setDatabaseClock } from "../postgres/lentDatabases.ts";
import type { Store } from "./onBoth.ts";
import { StartedCore, startedCore } from "./startedCore.ts";

/** The service below its HTTP face, on either database. On PostgreSQL there may be several servers. */
export async function startedOn(store: Store, at: string, servers = 1): Promise<StartedCore> {
  if (store.kind === "SQLite") return startedCore(at);
  return startedServers(await store.lend(), at, servers);
}

/** Several servers below HTTP on one database. */
export async function startedServers(lent: LentDatabase, at: string, servers: number) {
  await setDatabaseClock(lent.db, { at: Date.parse(at) });
  const cores = new SharedCores(lent, at, servers);
  await cores.start();
  return cores;
}

/** The database's time is the test's too, and one runner has room for every run. */
class SharedCores extends StartedCore<SharedCore> {
  readonly work = {
    definition: JSON.stringify({ path: "pipelines/pretended.yaml", text: "steps: []" }),
  };
  readonly #lent: LentDatabase;
  readonly #runner = { keyId: "key_of_runner", runnerId: "rnr_pretended" };
  /** Why jobs were stopped. */
  readonly #reasons = new Map<string, StopReason>();
  /** The runs that it was given, until their end was taken in. */
  readonly #known = new Set<string>();
  #taking: Promise<void> = Promise.resolve();
  /** How often a connection was used. */
  #uses = 0;
  #isStarted = Promise.withResolvers<void>();

  constructor(lent: LentDatabase, at: string, servers: number) {
    super(lent.db, at, servers);
    this.#lent = lent;
  }

  storeOf(): PostgresAdmission {
    return new PostgresAdmission(() => undefined);
  }

  protected async openServer(instance: string): Promise<SharedCore> {
    let alarms = 0;
    const server: SharedCore = await openSharedCore({
      ...{ url: `${this.#lent.url}&application_name=${instance}`, instance, log: () => {} },
      clock: this.clockOf(instance, () => {
        alarms += 1;
      }),
    });
    this.cores.set(server, instance);
    server.pool.on("acquire", () => {
      this.#uses += 1;
    });
    const write = server.writer.write.bind(server.writer);
    server.writer.write = (...writing) => {
      this.commits += 1;
      return write(...writing);
    };
    server.bus.subscribeToAll((_, { kind }) => {
      if (kind === "work") this.#takeWork();
      if (kind === "stop") this.#sayAlive();
    });
    this.#isStarted.resolve();
    this.#takeWork();
    this.#sayAlive();
    // It has said that it lives, and has looked after the queue: each sets no alarm while it is done.
    while (alarms < 2) await setImmediate();
    return server;
  }

  protected async killServer(server: SharedCore, instance: string): Promise<void> {
    if (this.cores.size === 0) this.#isStarted = Promise.withResolvers();
    Object.assign(server.admission, { tickets: () => [], claim: async () => {} });
    const ended = server.db.destroy();
    const terminate = sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = ${instance}`;
    await terminate.execute(this.db);
    await ended;
    await server.bus.close();
    // Nothing of what it has asked the database for is still to come.
    while ((await terminate.execute(this.db)).rows.length > 0) await setImmediate();
  }

  async quiet(): Promise<void> {
    let uses: number;
    do {
      uses = this.#uses;
      await this.#idle();
      await this.#heardAll();
      await this.#idle();
    } while (uses !== this.#uses);
  }

  /** Who lives says so while the time passes. */
  override async turn(milliseconds: number): Promise<void> {
    await this.quiet();
    const at = this.clock.now() + milliseconds;
    await this.#setDatabaseClock(at);
    this.#sayAlive();
    await this.quiet();
    await this.#sweepDead();
    this.clock.advance(milliseconds);
    this.#takeWork();
  }

  override async set(instant: string): Promise<void> {
    await this.#setDatabaseClock(Date.parse(instant));
    this.clock.set(instant);
  }

  /** Looks for runs whose runner is gone, as each server does again and again. */
  async sweep(): Promise<void> {
    await this.#sweepDead();
    // Each server looks after what the dead have left.
    await notify(this.db, [payloadOf("", { kind: "org" })]);
    await this.quiet();
  }

  async #sweepDead(): Promise<void> {
    await Promise.all([sweepServers(this.db), shortenLeases(this.db)]);
  }

  protected async close(): Promise<void> {
    await this.#lent[Symbol.asyncDispose]();
  }

  /**
   * In one commit with the word of servers and runner that they live: a jump of the time alone makes them look dead. Not
   * while the runner takes a run, since it can't speak for that one yet.
   */
  async #setDatabaseClock(at: number): Promise<void> {
    const setting = this.#taking.then(() => this.#setClockAndLeases(at));
    this.#taking = setting;
    await setting;
  }

  async #setClockAndLeases(at: number): Promise<void> {
    await this.db.transaction().execute(async (tx) => {
      await setDatabaseClock(tx, { at });
      await tx
        .updateTable("servers")
        .set({ alive_until: at + aliveMilliseconds })
        .where("id", "in", ["", ...this.cores.values()])
        .execute();
      await tx
        .updateTable("runs")
        .set({ lease_until: at + leaseSeconds * 1000 })
        .where("id", "in", ["", ...this.jobs.keys()])
        .where("stopped_at", "is", null)
        .execute();
    });
  }

  /** No connection is in use. */
  async #idle(): Promise<void> {
    for (let turns = 0; turns < 10; turns++) {
      await setImmediate();
      for (const { pool } of this.cores.keys()) {
        if (pool.idleCount < pool.totalCount || pool.waitingCount > 0) turns = 0;
      }
    }
  }

  /** Every server has heard what the others have rung before. */
  async #heardAll(): Promise<void> {
    const heard = [...this.cores.keys()].map(
      ({ bus }) =>
        new Promise<void>((resolve) => {
          const unsubscribe = bus.subscribeToAll((orgId) => {
            if (orgId !== "org_of_marker") return;
            unsubscribe();
            resolve();
          });
        }),
    );
    if (heard.length === 0) return;
    await notify(this.db, [payloadOf("org_of_marker", { kind: "org" })]);
    await Promise.all(heard);
  }

  get #runs(): RemoteRuns | undefined {
    const [server] = this.cores.keys();
    return server?.runs;
  }

  /** One request after the other, as a runner asks. */
  #takeWork(): void {
    this.#taking = this.#taking.then(() => this.#takeAll()).catch(() => {});
  }

  async #takeAll(): Promise<void> {
    for (;;) {
      const taken = await this.#runs?.take(this.#runner, { orgId: undefined, known: [...this.#known] });
      if (taken === undefined) return;
      this.#known.add(taken.runId);
      this.#begin(taken);
    }
  }

  #sayAlive(): void {
    void this.#runs?.renew(this.#runner, [...this.jobs.keys()]).then(
      ({ stop }) => {
        for (const { runId, reason } of stop) this.#stop(runId, reason);
      },
      () => {},
    );
  }

  #begin({ runId, timeLimitSeconds }: TakenRun): void {
    let said = 0;
    let saying = Promise.resolve();
    const say = (message: RunnerMessage) => {
      const first = ++said;
      saying = saying.then(() => this.#say(runId, first, message));
    };
    const reason = { kind: "timed-out", seconds: timeLimitSeconds, origin: "file", step: undefined } as const;
    const cancelTimer = this.clock.after(timeLimitSeconds * 1000, () => this.#stop(runId, reason));
    this.jobs.set(runId, {
      runId,
      stopped: false,
      step: (step, index = 0) => say({ kind: "step", index, ...step }),
      end: (end) => {
        const job = this.jobs.get(runId);
        cancelTimer();
        this.jobs.delete(runId);
        const stopReason = this.#reasons.get(runId);
        const how: RunnerEnd = end ?? { kind: job?.stopped ? "stopped" : "succeeded" };
        say({ kind: "ended", end: how, ...(stopReason?.kind === "timed-out" ? { stopReason } : {}) });
        void saying.then(() => this.#known.delete(runId));
      },
    });
  }

  #stop(runId: string, reason: StopReason): void {
    const job = this.jobs.get(runId);
    if (job === undefined || job.stopped) return;
    job.stopped = true;
    this.#reasons.set(runId, reason);
  }

  /** Says it again to the next server when one dies before it has answered. */
  async #say(runId: string, first: number, message: RunnerMessage): Promise<void> {
    for (;;) {
      await this.#isStarted.promise;
      const runs = this.#runs;
      try {
        await runs?.takeIn(this.#runner, runId, first, [message]);
        return;
      } catch (error) {
        if (error instanceof PipelineError && error.type === "conflict") return;
        if (runs === this.#runs) throw error;
      }
    }
  }
}
