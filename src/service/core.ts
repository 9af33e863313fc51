import { Changes } from "./changes.ts";
import type { Clock } from "./clock.ts";
import { keepLeases, type Leases, leaseMilliseconds } from "./keepLeases.ts";
import type { Log } from "./log.ts";
import { Places } from "./places.ts";
import { type RecoverDeps, recover } from "./recover.ts";
import type { RunLogs } from "./runLog/runLogs.ts";
import { beginRecord } from "./runRecord.ts";
import { RunsInWork, type RunsInWorkDeps } from "./runsInWork.ts";
import { addArtifact } from "./store/artifacts.ts";
import { idMaker, type MakeId, newestIdTime } from "./store/ids.ts";
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
  readonly launch: RunsInWorkDeps["launch"];
  readonly logs: Pick<RunLogs, "begin" | "mend">;
  readonly endLeftovers: RecoverDeps["endLeftovers"];
}

/** What is below the service's HTTP face: the line for places, the runs in work, and the store that both go to. */
export interface Core {
  readonly db: Database;
  readonly writer: Writer;
  readonly makeId: MakeId;
  readonly changes: Changes;
  readonly places: Places;
  readonly runs: RunsInWork;
  readonly leases: Leases;
  /** Ends what is left once no request comes any more, and closes the database. */
  close(): Promise<void>;
}

/** Recovers what a start before has left, and then is ready for requests. The database is the core's from here on. */
export async function openCore(deps: CoreDeps): Promise<Core> {
  const { db, clock, log, logs, instance, launch } = deps;
  const writer = new Writer(db, deps);
  const makeId = idMaker(clock.now, await newestIdTime(db));
  const changes = new Changes();
  const places = new Places({
    admit: (wish) => runs.admit(wish),
    repeated: (wish) => runs.repeated(wish),
    withdraw: (runId) => runs.withdraw(runId),
    clock,
    onLineChanged: (orgId) => changes.tell(orgId, { kind: "org" }),
  });
  const onPlaceGivenUp = (orgId: string) => places.placeGivenUp(orgId);
  const admission = { now: clock.now, makeId, runner: deps.runner, holder: instance, leaseMilliseconds };
  const record = (orgId: string, runId: string) =>
    beginRecord(runId, {
      logs,
      log,
      keep: async (artifact) => {
        await writer.write((tx) => addArtifact(tx, runId, artifact));
        changes.tell(orgId, { kind: "run", runId });
      },
    });
  const runs = new RunsInWork({
    ...{ writer, clock, changes, log, admission, record, launch, onPlaceGivenUp },
    onPlaceBeingGivenUp: (orgId) => places.placeIsBeingGivenUp(orgId),
  });
  const recovering = {
    db,
    writer,
    clock,
    log,
    logs,
    changes,
    endLeftovers: deps.endLeftovers,
    onPlaceGivenUp,
    ending: new Set<string>(),
  };
  await recover(recovering);
  const leases = keepLeases({ ...recovering, holder: instance, held: () => runs.held() });
  return {
    db,
    writer,
    makeId,
    changes,
    places,
    runs,
    leases,
    async close() {
      await places.close();
      await runs.stopAll();
      await leases.stop();
      await writer.close();
      await db.destroy();
    },
  };
}
