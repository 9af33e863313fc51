import type { Clock } from "../contract/clock.ts";
import { Admission } from "./admission/admission.ts";
import {
  keepLeases,
  type Leases,
  leaseMilliseconds,
  type RecoverDeps,
  recover,
} from "./admission/recovery.ts";
import { EventBus } from "./eventBus.ts";
import type { Log } from "./log.ts";
import { ActiveRuns, type ActiveRunsDeps } from "./runs/activeRuns.ts";
import type { RunLogs } from "./runs/runLogs.ts";
import { beginRecord } from "./runs/runRecord.ts";
import { idMaker, type MakeId, newestIdTime } from "./store/ids.ts";
import { addArtifact } from "./store/runFiles.ts";
import type { Database } from "./store/tables.ts";
import { Writer, type WriterDeps } from "./store/writer.ts";

export interface CoreDeps extends WriterDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** Tells this start of the service from every other. */
  readonly instance: string;
  /** What the runs' `runner` says. */
  readonly runner: string;
  readonly launch: ActiveRunsDeps["launch"];
  readonly logs: Pick<RunLogs, "begin" | "mend">;
  readonly endLeftovers: RecoverDeps["endLeftovers"];
}

/** What is below the service's HTTP face: admission, the active runs, and the store that both go to. */
export interface Core {
  readonly db: Database;
  readonly writer: Writer;
  readonly makeId: MakeId;
  readonly bus: EventBus;
  readonly admission: Admission;
  readonly runs: ActiveRuns;
  readonly leases: Leases;
  /** Ends what is left once no request comes any more, and closes the database. */
  close(): Promise<void>;
}

/** Recovers what a start before has left, and then is ready for requests. The database is the core's from here on. */
export async function openCore(deps: CoreDeps): Promise<Core> {
  const { db, clock, log, logs, instance, launch } = deps;
  const writer = new Writer(db, deps);
  const makeId = idMaker(clock.now, await newestIdTime(db));
  const bus = new EventBus();
  const record = (orgId: string, runId: string) =>
    beginRecord(runId, {
      logs,
      log,
      keep: async (artifact) => {
        await writer.write((tx) => addArtifact(tx, runId, artifact));
        bus.emit(orgId, { kind: "run", runId });
      },
    });
  const runs: ActiveRuns = new ActiveRuns({
    ...{ writer, clock, bus, log, record, launch },
    release: (orgId, end) => admission.release(orgId, end),
  });
  const admission = new Admission({
    ...{ writer, clock, bus, log, makeId, runs, leaseMilliseconds },
    runner: deps.runner,
    holder: instance,
  });
  await admission.recover();
  const recovering = {
    ...{ db, admission, clock, log, logs, bus },
    endLeftovers: deps.endLeftovers,
    ending: new Set<string>(),
  };
  await recover(recovering);
  const leases = keepLeases({ ...recovering, writer, holder: instance, held: () => runs.held() });
  return {
    db,
    writer,
    makeId,
    bus,
    admission,
    runs,
    leases,
    async close() {
      await admission.close();
      await runs.stopAll();
      await leases.stop();
      await writer.close();
      await db.destroy();
    },
  };
}
