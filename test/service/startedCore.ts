import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { Refusal } from "../../src/contract/refusal.ts";
import type { RunStep, ServedRun } from "../../src/contract/run.ts";
import type { RunnerEnd } from "../../src/contract/runners.ts";
import type { Pipeline } from "../../src/pipeline/pipeline.ts";
import type { EnterOutcome } from "../../src/service/admission/waiter.ts";
import { type Core, openCore } from "../../src/service/core.ts";
import type { Log } from "../../src/service/log.ts";
import type { OpenLog } from "../../src/service/runs/runLogs.ts";
import { idMaker } from "../../src/service/store/ids.ts";
import { createKey } from "../../src/service/store/keys.ts";
import { openDatabase } from "../../src/service/store/openDatabase.ts";
import { readOrg } from "../../src/service/store/orgs.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";
import { TurnedClock } from "./turnedClock.ts";

/** The processes of a run that only pretends to have any. They end when the test says so. */
export interface PretendedJob {
  readonly runId: string;
  /** Whether the service has asked them to end. */
  stopped: boolean;
  /** Tells of the run's first step. */
  step(step: RunStep): void;
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

const pipeline: Pipeline = { name: "pretended", timeLimitSeconds: 30, resources: [], steps: [] };

/** Runs that have no processes write nothing; and so `quiet` has no file to wait for. */
const noLog: OpenLog = { append: () => {}, complete: async () => {}, end: () => {} };
const noLogs = { begin: () => noLog, mend: async () => {} };

/**
 * The service below its HTTP face, on a real database and a clock that the test turns; only the runs' processes are
 * pretended. `prepare` may put a database there first; `crash` leaves the database as a killed service would, for `start` to find.
 */
export async function startedCore(at: string, prepare: (folder: string) => void = () => {}) {
  const folder = await TemporaryFolder.make();
  prepare(folder.path);
  const clock = new TurnedClock(at);
  const jobs = new Map<string, PretendedJob>();
  const logged: string[] = [];
  const log: Log = (level, message, facts) => logged.push(JSON.stringify({ level, message, ...facts }));
  /** What a test may make go wrong. */
  const faults: { launch?: Error; leftovers?: (runId: string) => Promise<void> } = {};
  let instances = 0;
  let commits = 0;
  let asked = 0;
  const open = new Set<AskedStart>();

  const start = async (): Promise<Core> => {
    const instance = `instance-${++instances}`;
    // Time doesn't go on for a service that has died.
    const isAlive = () => instance === `instance-${instances}`;
    return openCore({
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
  };
  let core = await start();
  // Beside the service, as `keys create` does.
  const db = await openDatabase(folder.path);
  const makeId = idMaker(clock.now);

  return {
    folder: folder.path,
    clock,
    db,
    jobs,
    logged,
    faults,
    get core() {
      return core;
    },
    /** How many commits the service has made. */
    get commits() {
      return commits;
    },
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
    ask(
      key: { readonly orgId: string; readonly keyId: string },
      waitSeconds: number,
      {
        idempotencyKey,
        isTold = true,
        name = `pipeline-${asked++}`,
        project = "shop",
      }: {
        readonly idempotencyKey?: string | undefined;
        readonly isTold?: boolean;
        readonly name?: string;
        readonly project?: string;
      } = {},
    ): AskedStart {
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
        work: { root: "/", pipeline },
      };
      open.add(request);
      const { admission, runs } = core;
      const instance = instances;
      admission.enter(asking, waitSeconds, leaving.signal).then(
        (outcome) => {
          // A service that has died answers nobody.
          if (instance !== instances) return;
          open.delete(request);
          request.outcome = outcome;
          if (outcome.kind !== "refused" && isTold) runs.launch(outcome.run);
        },
        (error: unknown) => {
          open.delete(request);
          request.left ??= error;
        },
      );
      return request;
    },
    /** The service dies as by kill -9: what it has written is there, what it was about to write is not. */
    async crash() {
      const dead = core;
      instances += 1;
      for (const request of open) request.left ??= new Error("the service died");
      open.clear();
      await dead.db.destroy();
    },
    async start() {
      core = await start();
    },
    /** Lets the service's database grow no more, as on a disk that is full; or lets it again. */
    async limitDisk(isFull: boolean) {
      await sql.raw(`pragma max_page_count = ${isFull ? 1 : 4_000_000_000}`).execute(core.db);
    },
    /** The reply of a start has gone out. */
    tell(run: ServedRun) {
      core.runs.launch(run);
    },
    rows: () => db.selectFrom("runs").selectAll().orderBy("id").execute(),
    used: async (key: { readonly orgId: string; readonly keyId: string }) =>
      (await readOrg(db, key, clock.now())).usage.runsToday,
    async [Symbol.asyncDispose]() {
      await core.admission.close();
      await quiet();
      for (const job of [...jobs.values()]) job.end();
      await core.close().catch(() => {});
      await db.destroy();
      await folder[Symbol.asyncDispose]();
    },
  };
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
