import { Admission } from "./admission/admission.ts";
import { sweepWaiters } from "./admission/queue.ts";
import { type RecoverDeps, recover, sweepActive } from "./admission/recovery.ts";
import { sqliteAdmission } from "./admission/sqliteAdmission.ts";
import { ActiveRuns, type ActiveRunsDeps } from "./runs/activeRuns.ts";
import type { RunLogs } from "./runs/runLogs.ts";
import { EventBus } from "./store/eventBus.ts";
import { idMaker, type MakeId, newestIdTime } from "./store/ids.ts";
import type { StoreDeps } from "./store/storeDeps.ts";
import { sqliteWriter, type WriterDeps } from "./store/writer.ts";

export interface CoreDeps extends Omit<WriterDeps, "clock">, Pick<StoreDeps, "db" | "clock" | "log"> {
  /** Identifies this start of the service. */
  readonly instance: string;
  /** The value of the runs' field `runner`. */
  readonly runner: string;
  readonly launch: ActiveRunsDeps["launch"];
  readonly prepareRunner: ActiveRunsDeps["prepareRunner"];
  readonly logs: Pick<RunLogs, "begin" | "mend">;
  readonly endLeftovers: RecoverDeps["endLeftovers"];
}

/** The service below HTTP: admission, the active runs, and the store of both. */
export interface Core extends Pick<StoreDeps, "db" | "writer" | "bus"> {
  readonly makeId: MakeId;
  readonly admission: Admission;
  readonly runs: ActiveRuns;
  /** Called with a run that is being cancelled: if nobody holds it, only its recovery can end it. */
  recover(runId: string): void;
  /** Ends the runs and closes the database. Called when no more requests come. */
  close(): Promise<void>;
}

/** Recovers what an earlier start left behind; resolves when ready for requests. Owns `db` from then on. */
export async function openCore(deps: CoreDeps): Promise<Core> {
  const { db, clock, log, logs, instance, launch, prepareRunner } = deps;
  const writer = sqliteWriter(db, deps);
  const makeId = idMaker(clock.now, await newestIdTime(db));
  const bus = new EventBus();
  const shared = { db, writer, clock, bus, log, logs };
  const runs = new ActiveRuns({
    ...shared,
    launch,
    prepareRunner,
    release: (orgId, end) => admission.release(orgId, end),
  });
  const admission: Admission = new Admission({
    ...shared,
    makeId,
    store: sqliteAdmission({ now: clock.now, makeId, holder: instance, runs }),
    runner: deps.runner,
    holder: instance,
    runs,
  });
  await writer.write((tx) => sweepWaiters(tx, instance));
  const { endLeftovers } = deps;
  const recovery = { ...shared, admission, endLeftovers, recovering: new Set<string>() };
  await recover(recovery);
  const sweeping = sweepActive(recovery, runs);
  return {
    db,
    writer,
    makeId,
    bus,
    admission,
    runs,
    recover: (runId) => void (runs.ids().has(runId) || sweeping.soon()),
    async close() {
      await admission.close();
      await runs.stopAll();
      await sweeping.stop();
      await writer.close();
      await db.destroy();
    },
  };
}
