import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { Refusal } from "../../src/contract/refusal.ts";
import type { ServedRun } from "../../src/contract/run.ts";
import type { RunnerEnd, RunnerMessage } from "../../src/contract/runners.ts";
import type { Clock } from "../../src/machine/clock.ts";
import type { Log } from "../../src/machine/log.ts";
import type { Pipeline } from "../../src/pipeline/pipeline.ts";
import type { Admission } from "../../src/service/admission/admission.ts";
import type { AdmissionStore, EnterOutcome, EnterRequest } from "../../src/service/admission/decision.ts";
import { sqliteAdmission } from "../../src/service/admission/sqliteAdmission.ts";
import { type Core, openCore } from "../../src/service/core.ts";
import type { OpenLog } from "../../src/service/runs/runLogs.ts";
import type { Runs } from "../../src/service/runs/runs.ts";
import type { EventBus } from "../../src/service/store/eventBus.ts";
import type { MakeId } from "../../src/service/store/ids.ts";
import { openDatabase } from "../../src/service/store/openDatabase.ts";
import { readOrg } from "../../src/service/store/orgs.ts";
import type { Database } from "../../src/service/store/tables.ts";
import type { Writer } from "../../src/service/store/writer.ts";
import { FakeClock } from "../clock/fakeClock.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";
import { type Limits, limitedKey } from "./servedProcess.ts";

/** The processes of a run that only pretends to have any. They end when the test says so. */
export interface PretendedJob {
  readonly runId: string;
  /** Whether the service has asked them to end. */
  stopped: boolean;
  /** Tells of a step of the run, the first unless another is named. */
  step(step: Omit<Extract<RunnerMessage, { kind: "step" }>, "kind" | "index">, index?: number): void;
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

/**
 * The service below its HTTP face, on a real database and a clock that the test turns; only the runs' processes are
 * pretended.
 */
export abstract class StartedCore<C extends EitherCore = EitherCore> implements AsyncDisposable {
  /** Beside the service, as `keys create` does. */
  readonly db: Database;
  readonly clock: FakeClock;
  readonly jobs = new Map<string, PretendedJob>();
  abstract readonly work: EnterRequest["work"];
  /** How many commits the service has made. */
  commits = 0;
  /** The servers that are alive, with the name of each. */
  readonly cores = new Map<C, string>();
  readonly #servers: number;
  readonly #dead = new Set<string>();
  readonly #open = new Map<AskedStart, string>();
  #instances = 0;
  #asked = 0;

  constructor(db: Database, at: string, servers: number) {
    this.db = db;
    this.clock = new FakeClock(at);
    this.#servers = servers;
  }

  /** What the admission of a server asks of its database. */
  abstract storeOf(core: C): AdmissionStore;
  protected abstract openServer(instance: string): Promise<C>;
  /** As by kill -9: what the server has written is there, what it was about to write is not. */
  protected abstract killServer(core: C, instance: string): Promise<void>;
  protected abstract close(): Promise<void>;
  /** Everything that is under way has come to its end. */
  abstract quiet(): Promise<void>;
  /** Lets the service's database grow no more, as on a disk that is full; or lets it again. */
  limitDisk?(isFull: boolean): Promise<void>;

  /** Lets so many milliseconds pass. */
  async turn(milliseconds: number): Promise<void> {
    this.clock.advance(milliseconds);
  }

  /** Sets the time of day, on all machines. */
  async set(instant: string): Promise<void> {
    this.clock.set(instant);
  }

  /** Whether what is asked for at the same moment is decided on in the order in which it was asked. */
  get isOrdered(): boolean {
    return "root" in this.work;
  }

  get core(): C {
    return this.#serverAt(0)[0];
  }

  /** Starts the servers that there aren't yet, or that have died. */
  async start(): Promise<void> {
    while (this.cores.size < this.#servers) {
      const instance = `instance-${++this.#instances}`;
      this.cores.set(await this.openServer(instance), instance);
    }
  }

  /** A member's key of an org, which is made when there is none of that name. */
  key(orgName = "acme", { parallelRuns = 1, runsPerDay = 50 }: Partial<Limits> = {}) {
    return limitedKey(this.db, orgName, { parallelRuns, runsPerDay }, this.clock.now);
  }

  /** Asks for a run as the HTTP face does; its processes are started once its caller `isTold` of it. */
  ask({ orgId, keyId }: KeyOf, waitSeconds: number, more: AskedWith = {}): AskedStart {
    const number = this.#asked++;
    const { idempotencyKey, isTold = true, name = `pipeline-${number}`, project = "shop", agent } = more;
    const [core, instance] = this.#serverAt(more.server ?? number);
    const leaving = new AbortController();
    const request: AskedStart = { name, orgId, leave: () => leaving.abort(new Error("left")) };
    const asking = {
      ...{ orgId, actor: keyId, project, pipeline: name, timeLimitSeconds: 30 },
      ...{ idempotencyKey, agent, work: this.work },
    };
    this.#open.set(request, instance);
    core.admission.enter(asking, waitSeconds, leaving.signal).then(
      (outcome) => {
        // A service that has died answers nobody.
        if (!this.#open.delete(request)) return;
        request.outcome = outcome;
        if (outcome.kind !== "refused" && isTold) core.runs.launch(outcome.run);
      },
      (error: unknown) => {
        this.#open.delete(request);
        request.left ??= error;
      },
    );
    return request;
  }

  /** Asks, and lets come of it what may. */
  async asked(...asking: Parameters<StartedCore["ask"]>): Promise<AskedStart> {
    const request = this.ask(...asking);
    await this.quiet();
    return request;
  }

  /** The first of the servers dies as by kill -9. */
  async crash(): Promise<void> {
    const [dead] = this.cores;
    if (dead === undefined) return;
    const [core, instance] = dead;
    this.cores.delete(core);
    this.#dead.add(instance);
    for (const [request, at] of this.#open) {
      if (at !== instance) continue;
      this.#open.delete(request);
      request.left ??= new Error("the service died");
    }
    await this.killServer(core, instance);
  }

  /** The processes of a request's run are gone, and nothing has come of that yet. */
  end({ outcome }: AskedStart): void {
    if (outcome?.kind === "started") this.jobs.get(outcome.run.runId)?.end();
  }

  /** The reply of a start has gone out. */
  tell(run: ServedRun): void {
    this.core.runs.launch(run);
  }

  rows() {
    return this.db.selectFrom("runs").selectAll().orderBy("id").execute();
  }

  async used(key: KeyOf): Promise<number> {
    return (await readOrg(this.db, key, this.clock.now())).usage.runsToday;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const cores = [...this.cores.keys()];
    for (const core of cores) await core.admission.close();
    await this.quiet();
    for (const job of [...this.jobs.values()]) job.end();
    await this.quiet();
    for (const core of cores) await core.close().catch(() => {});
    await this.close();
  }

  /** Time doesn't go on for a server that has died. */
  protected clockOf(instance: string, onAlarm = () => {}): Clock {
    const { now, monotonic, sleep, after } = this.clock;
    const isAlive = () => !this.#dead.has(instance);
    return {
      ...{ now, monotonic },
      sleep: (milliseconds, signal) =>
        sleep(milliseconds, signal).then(() => (isAlive() ? undefined : new Promise(() => {}))),
      after(milliseconds, callBack) {
        onAlarm();
        return after(milliseconds, () => isAlive() && callBack());
      },
    };
  }

  #serverAt(number: number): [C, string] {
    const server = [...this.cores][number % this.cores.size];
    if (server === undefined) throw new Error("the service has died");
    return server;
  }
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
  const core = new EmbeddedCore(folder, await openDatabase(folder.path), at);
  await core.start();
  return core;
}

class EmbeddedCore extends StartedCore<Core> {
  readonly folder: string;
  readonly work = { root: "/", project: "p", pipeline };
  readonly logged: string[] = [];
  /** What a test may make go wrong. */
  readonly faults: { launch?: Error; leftovers?: (runId: string) => Promise<void> } = {};
  readonly #folder: TemporaryFolder;

  constructor(folder: TemporaryFolder, db: Database, at: string) {
    super(db, at, 1);
    this.folder = folder.path;
    this.#folder = folder;
  }

  storeOf({ makeId, runs }: Core): AdmissionStore {
    return sqliteAdmission({ now: this.clock.now, makeId, holder: "test", runs });
  }

  override async limitDisk(isFull: boolean): Promise<void> {
    for (const { db } of this.cores.keys()) {
      await sql.raw(`pragma max_page_count = ${isFull ? 1 : 4_000_000_000}`).execute(db);
    }
  }

  quiet(): Promise<void> {
    return quiet();
  }

  protected async openServer(instance: string): Promise<Core> {
    const log: Log = (level, message, facts) =>
      void this.logged.push(JSON.stringify({ level, message, ...facts }));
    return openCore({
      db: await openDatabase(this.folder, { lockMilliseconds: 0 }),
      ...{ clock: this.clockOf(instance), log, logs: noLogs, instance, runner: "test" },
      onCommit: () => {
        this.commits += 1;
      },
      prepareRunner: () => {},
      launch: ({ runId }, { onStep }) => {
        if (this.faults.launch !== undefined) throw this.faults.launch;
        const { promise: ended, resolve } = Promise.withResolvers<RunnerEnd>();
        const job: PretendedJob = {
          runId,
          stopped: false,
          step: (step, position = 0) => onStep(step, position),
          end: (how) => {
            this.jobs.delete(runId);
            resolve(how ?? { kind: job.stopped ? "stopped" : "succeeded" });
          },
        };
        this.jobs.set(runId, job);
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
        await this.faults.leftovers?.(runId);
        this.jobs.delete(runId);
      },
    });
  }

  protected async killServer(core: Core): Promise<void> {
    await core.db.destroy();
  }

  protected async close(): Promise<void> {
    await this.db.destroy();
    await this.#folder[Symbol.asyncDispose]();
  }
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
