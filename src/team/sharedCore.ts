import type pg from "pg";
import type { Clock } from "../machine/clock.ts";
import { idMaker, type MakeId } from "../service/store/ids.ts";
import type { StoreDeps } from "../service/store/storeDeps.ts";
import { followOtherServers } from "./admission/otherServers.ts";
import { PostgresAdmission } from "./admission/postgresAdmission.ts";
import { SharedAdmission, type SharedAdmissionDeps } from "./admission/sharedAdmission.ts";
import { RemoteRuns } from "./runs/remoteRuns.ts";
import { databaseClock } from "./store/databaseClock.ts";
import { openPostgres, unusable } from "./store/openPostgres.ts";
import { type BusDeps, PostgresBus } from "./store/postgresBus.ts";
import { PostgresWriter } from "./store/postgresWriter.ts";

export interface SharedCoreDeps extends Omit<BusDeps, "db" | "clock"> {
  /** The database's clock where none is given. */
  readonly clock?: Clock | undefined;
  readonly observe?: SharedAdmissionDeps["observe"];
}

/** The service below HTTP on PostgreSQL, one of any number of servers on the same database. */
export interface SharedCore extends Omit<StoreDeps, "bus"> {
  readonly bus: PostgresBus;
  readonly pool: pg.Pool;
  readonly makeId: MakeId;
  readonly admission: SharedAdmission;
  readonly runs: RemoteRuns;
  /** Turns away all waiters and every later start. A request that is sent again to another server keeps its place. */
  turnAway(): Promise<void>;
  /** Called when no more requests come. */
  close(): Promise<void>;
}

/** @throws PipelineError `internal` when the database can't be used; then nothing is left open. */
export async function openSharedCore(deps: SharedCoreDeps): Promise<SharedCore> {
  const { log, instance, observe = () => {} } = deps;
  const { db, pool, clock, bus, close } = await openDatabase(deps);
  const writer = new PostgresWriter(db);
  const makeId = idMaker(clock.now);
  const shared = { db, writer, clock, bus, log, makeId };
  const runs = new RemoteRuns({
    ...shared,
    release: (orgId, end) => admission.release(orgId, end),
    change: (orgId, act) => admission.change(orgId, act),
  });
  const admission: SharedAdmission = new SharedAdmission({
    ...shared,
    store: new PostgresAdmission(() => (bus.isRetired ? undefined : instance)),
    // Until a runner takes the run and puts its own name here.
    runner: "none yet",
    holder: instance,
    runs,
    observe,
  });
  const stopFollowing = followOtherServers({ ...shared, admission, holder: instance });
  return {
    ...shared,
    pool,
    admission,
    runs,
    async turnAway() {
      // From then on, no other server grants anything to those who wait here.
      await bus.retire();
      await admission
        .claim()
        .catch((error: unknown) => log("warn", "granted runs are not claimed", { error }));
      await admission.close();
    },
    async close() {
      await runs.stopAll();
      await stopFollowing();
      await writer.close();
      await close();
    },
  };
}

/** The database, its clock, and the events of all servers. */
async function openDatabase({ url, log, instance, objectStore, clock: given }: SharedCoreDeps) {
  const { db, pool } = await openPostgres(url, (error) => log("warn", "a connection broke", { error }));
  const opened: (() => Promise<void> | void)[] = [() => db.destroy()];
  const close = async () => {
    for (const closeOne of opened.toReversed()) await closeOne();
  };
  try {
    const readClock = async (): Promise<Clock> => {
      const clock = await databaseClock(db, log);
      opened.push(() => clock[Symbol.dispose]());
      return clock;
    };
    const clock = given ?? (await readClock());
    const bus = await PostgresBus.listen({ url, db, clock, log, instance, objectStore });
    opened.push(() => bus.close());
    return { db, pool, clock, bus, close };
  } catch (error) {
    await close();
    return unusable(error);
  }
}
