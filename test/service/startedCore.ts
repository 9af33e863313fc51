import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { Refusal } from "../../src/contract/refusal.ts";
import type { ServedRun } from "../../src/contract/run.ts";
import type { RunnerEnd, RunnerMessage } from "../../src/contract/runners.ts";
import type { Pipeline } from "../../src/pipeline/pipeline.ts";
import type { Admission } from "../../src/service/admission/admission.ts";
import type { AdmissionStore } from "../../src/service/admission/queue.ts";
import { sqliteAdmission } from "../../src/service/admission/sqliteAdmission.ts";
import type { EnterOutcome, EnterRequest } from "../../src/service/admission/waiter.ts";
import { type Core, openCore } from "../../src/service/core.ts";
import type { EventBus } from "../../src/service/eventBus.ts";
import type { Log } from "../../src/service/log.ts";
import type { OpenLog } from "../../src/service/runs/runLogs.ts";
import type { Runs } from "../../src/service/runs/runs.ts";
import { idMaker, type MakeId } from "../../src/service/store/ids.ts";
import { createKey } from "../../src/service/store/keys.ts";
import { openDatabase } from "../../src/service/store/openDatabase.ts";
import { readOrg } from "../../src/service/store/orgs.ts";
import type { Database } from "../../src/service/store/tables.ts";
import type { Writer } from "../../src/service/store/writer.ts";
import { FakeClock } from "../clock/fakeClock.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";

/** The processes of a run that only pretends to have any. They end when the test says so. */
export interface PretendedJob {
  readonly runId: string;
  /** Whether the service has asked them to end. */
  stopped: boolean;
  /** Tells of the run's first step. */
  step(step: Omit<Extract<RunnerMessage, { kind: "step" }>, "kind" | "index">): void;
  end(how?: RunnerEnd): void;
}

/** A start that was asked for, and what has come of it so far. */
export interface AskedStart {
  readonly name: string;
  readonly orgId: string;
  outcome?: EnterOutcome;
  /** Why there is no outcome: the caller left, or the service failed. */
  left?: unknown;
  leave(): void;
}

export interface AskedWith {
  readonly idempotencyKey?: string | undefined;
  readonly isTold?: boolean;
  readonly name?: string;
  readonly project?: string;
  readonly agent?: string;
  /** Which of the servers; one after the other, if left out. */
  readonly server?: number;
}

type KeyOf = { readonly orgId: string; readonly keyId: string };

/** What a service of either kind has below HTTP. */
interface EitherCore {
  readonly db: Database;
  readonly writer: Writer;
  readonly makeId: MakeId;
  readonly bus: EventBus;
  readonly admission: Admission;
  readonly runs: Runs;
  close(): Promise<void>;
}

/** What differs between a service on SQLite and several on PostgreSQL. */
export interface Place<C extends EitherCore> {
  /** Beside the service, as `keys create` does. */
  readonly db: Database;
  readonly clock: FakeClock;
  readonly jobs: Map<string, PretendedJob>;
  readonly store: AdmissionStore;
  readonly work: EnterRequest["work"];
  /** How many servers there are. */
  readonly servers: number;
  open(instance: string): Promise<C>;
  /** As by kill -9: what the server has written is there, what it was about to write is not. */
  kill(core: C): Promise<void>;
  /** Everything that is under way has come to its end. */
  quiet(): Promise<void>;
  turn(milliseconds: number): Promise<void>;
  set(instant: string): Promise<void>;
  /** How many commits the service has made. */
  commits(): number;
  close(): Promise<void>;
}

export type StartedCore = Awaited<
  ReturnType<typeof startedAt<EitherCore, { limitDisk?: (isFull: boolean) => Promise<void> }>>
>;

/**
 * The service below its HTTP face, on a real database and a clock that the test turns; only the runs' processes are
 * pretended.
 */
export async function startedAt<C extends EitherCore, More extends object>(place: Place<C>, more: More) {
  const { db, clock, jobs, servers } = place;
  const makeId = idMaker(clock.now);
  const cores: { core: C; instance: number }[] = [];
  let instances = 0;
  let asked = 0;
  const open = new Map<AskedStart, number>();
  const start = async () => {
    while (cores.length < servers) {
      const instance = ++instances;
      cores.push({ core: await place.open(`instance-${instance}`), instance });
    }
  };
  await start();
  const serverAt = (number: number) => {
    const server = cores[number % cores.length];
    if (server === undefined) throw new Error("the service has died");
    return server;
  };

  const quiet = () => place.quiet();
  const ask = (key: KeyOf, waitSeconds: number, more: AskedWith = {}): AskedStart => {
    const number = asked++;
    const { idempotencyKey, isTold = true, name = `pipeline-${number}`, project = "shop", agent } = more;
    const { core, instance } = serverAt(more.server ?? number);
    const leaving = new AbortController();
    const request: AskedStart = {
      name,
      orgId: key.orgId,
      leave: () => leaving.abort(new Error("left")),
    };
    const asking = {
      orgId: key.orgId,
      actor: key.keyId,
      project,
      pipeline: name,
      timeLimitSeconds: 30,
      idempotencyKey,
      agent,
      work: place.work,
    };
    open.set(request, instance);
    core.admission.enter(asking, waitSeconds, leaving.signal).then(
      (outcome) => {
        // A service that has died answers nobody.
        if (!open.delete(request)) return;
        request.outcome = outcome;
        if (outcome.kind !== "refused" && isTold) core.runs.launch(outcome.run);
      },
      (error: unknown) => {
        open.delete(request);
        request.left ??= error;
      },
    );
    return request;
  };

  return {
    ...more,
    ...{ clock, db, jobs, store: place.store, work: place.work },
    /** Whether what is asked for at the same moment is decided on in the order in which it was asked. */
    isOrdered: "root" in place.work,
    get core() {
      return serverAt(0).core;
    },
    get commits() {
      return place.commits();
    },
    quiet,
    /** Lets so many milliseconds pass. */
    turn: (milliseconds: number) => place.turn(milliseconds),
    /** Sets the time of day, on all machines. */
    set: (instant: string) => place.set(instant),
    /** A member's key of an org, which is made when there is none of that name. */
    async key(orgName = "acme", limits: { parallelRuns?: number; runsPerDay?: number } = {}) {
      const key = await createKey(db, { orgName, role: "member" }, { now: clock.now, makeId });
      const { parallelRuns = 1, runsPerDay = 50 } = limits;
      await db
        .updateTable("orgs")
        .set({ parallel_runs: parallelRuns, runs_per_day: runsPerDay })
        .where("id", "=", key.orgId)
        .execute();
      return key;
    },
    /** Asks for a run as the HTTP face does; its processes are started once its caller `isTold` of it. */
    ask,
    /** Asks, and lets come of it what may. */
    async asked(...asking: Parameters<typeof ask>): Promise<AskedStart> {
      const request = ask(...asking);
      await quiet();
      return request;
    },
    /** The first of the servers dies as by kill -9. */
    async crash() {
      const dead = cores.shift();
      if (dead === undefined) return;
      for (const [request, instance] of open) {
        if (instance !== dead.instance) continue;
        open.delete(request);
        request.left ??= new Error("the service died");
      }
      await place.kill(dead.core);
    },
    start,
    /** The processes of a request's run are gone, and nothing has come of that yet. */
    end({ outcome }: AskedStart) {
      if (outcome?.kind === "started") jobs.get(outcome.run.runId)?.end();
    },
    /** The reply of a start has gone out. */
    tell(run: ServedRun) {
      serverAt(0).core.runs.launch(run);
    },
    rows: () => db.selectFrom("runs").selectAll().orderBy("id").execute(),
    used: async (key: KeyOf) => (await readOrg(db, key, clock.now())).usage.runsToday,
    async [Symbol.asyncDispose]() {
      for (const { core } of cores) await core.admission.close();
      await place.quiet();
      for (const job of [...jobs.values()]) job.end();
      await place.quiet();
      for (const { core } of cores) await core.close().catch(() => {});
      await place.close();
    },
  };
}

const pipeline: Pipeline = { name: "pretended", timeLimitSeconds: 30, resources: [], steps: [] };

/** Runs that have no processes write nothing; and so `quiet` has no file to wait for. */
const noLog: OpenLog = { append: () => {}, complete: async () => {}, end: () => {} };
const noLogs = { begin: () => noLog, mend: async () => {} };

/**
 * The embedded service below its HTTP face. `prepare` may put a database there first; `crash` leaves the database as a
 * killed service would, for `start` to find.
 */
export async function startedCore(at: string, prepare: (folder: string) => void = () => {}) {
  const folder = await TemporaryFolder.make();
  prepare(folder.path);
  const clock = new FakeClock(at);
  const jobs = new Map<string, PretendedJob>();
  const logged: string[] = [];
  const log: Log = (level, message, facts) => logged.push(JSON.stringify({ level, message, ...facts }));
  /** What a test may make go wrong. */
  const faults: { launch?: Error; leftovers?: (runId: string) => Promise<void> } = {};
  let alive = "";
  let serving: Core | undefined;
  let commits = 0;

  const openEmbedded = async (instance: string): Promise<Core> => {
    alive = instance;
    // Time doesn't go on for a service that has died.
    const isAlive = () => instance === alive;
    serving = await openCore({
      db: await openDatabase(folder.path, { lockMilliseconds: 0 }),
      clock: {
        now: clock.now,
        monotonic: clock.monotonic,
        sleep: (milliseconds, signal) =>
          clock.sleep(milliseconds, signal).then(() => (isAlive() ? undefined : new Promise(() => {}))),
        after: (milliseconds, callBack) => clock.after(milliseconds, () => isAlive() && callBack()),
      },
      log,
      logs: noLogs,
      instance,
      runner: "test",
      onCommit: () => {
        commits += 1;
      },
      prepareRunner: () => {},
      launch: ({ runId }, onStep) => {
        if (faults.launch !== undefined) throw faults.launch;
        const { promise: ended, resolve } = Promise.withResolvers<RunnerEnd>();
        const job: PretendedJob = {
          runId,
          stopped: false,
          step: (step) => onStep(step, 0),
          end(how) {
            jobs.delete(runId);
            resolve(how ?? { kind: job.stopped ? "stopped" : "succeeded" });
          },
        };
        jobs.set(runId, job);
        return {
          pid: 1,
          identity: Promise.resolve({ pid: 1, birth: "then" }),
          ended,
          stop: () => {
            job.stopped = true;
          },
        };
      },
      endLeftovers: async ({ runId }) => {
        await faults.leftovers?.(runId);
        jobs.delete(runId);
      },
    });
    return serving;
  };
  const db = await openDatabase(folder.path);
  const place: Place<Core> = {
    ...{ db, clock, jobs, servers: 1, quiet },
    store: sqliteAdmission({ now: clock.now, makeId: idMaker(clock.now) }),
    work: { root: "/", pipeline },
    open: openEmbedded,
    async kill(core) {
      alive = "";
      await core.db.destroy();
    },
    turn: async (milliseconds) => clock.advance(milliseconds),
    set: async (instant) => clock.set(instant),
    commits: () => commits,
    async close() {
      await db.destroy();
      await folder[Symbol.asyncDispose]();
    },
  };
  return startedAt(place, {
    folder: folder.path,
    logged,
    faults,
    /** Lets the service's database grow no more, as on a disk that is full; or lets it again. */
    async limitDisk(isFull: boolean) {
      if (serving === undefined) return;
      await sql.raw(`pragma max_page_count = ${isFull ? 1 : 4_000_000_000}`).execute(serving.db);
    },
  });
}

export function hasStarted(request: { readonly outcome?: EnterOutcome }): boolean {
  return request.outcome?.kind === "started";
}

/** Why a start was refused; undefined when it wasn't. */
export function refusalOf({ outcome }: Pick<AskedStart, "outcome">): Refusal | undefined {
  return outcome?.kind === "refused" ? outcome.refusal : undefined;
}

/** Everything that is under way has come to its end: nothing here waits for more than the database in this process. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < 60; turn++) await setImmediate();
}
