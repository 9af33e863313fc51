import type pg from "pg";
import { type Clock, systemClock } from "../machine/clock.ts";
import { Admission, type AdmissionDeps } from "../service/admission/admission.ts";
import type { Log } from "../service/log.ts";
import type { Runs } from "../service/runs/runs.ts";
import { idMaker, type MakeId } from "../service/store/ids.ts";
import type { Database } from "../service/store/tables.ts";
import type { Writer } from "../service/store/writer.ts";
import { followOtherServers } from "./admission/otherServers.ts";
import { PostgresAdmission } from "./admission/postgresAdmission.ts";
import { databaseClock } from "./store/databaseClock.ts";
import { openPostgres, unusable } from "./store/openPostgres.ts";
import { PostgresBus } from "./store/postgresBus.ts";
import { PostgresWriter } from "./store/postgresWriter.ts";

/** What the runs of a server are made with. */
export interface SharedParts {
  readonly db: Database;
  readonly writer: Writer;
  readonly clock: Clock;
  readonly bus: PostgresBus;
  readonly log: Log;
}

export interface SharedCoreDeps<R extends Runs> {
  /** The database's `postgres://` URL. */
  readonly url: string;
  readonly log: Log;
  /** The database's clock where none is given. */
  readonly clock?: Clock | undefined;
  /** Identifies this start of the server. */
  readonly instance: string;
  readonly makeRuns: (parts: SharedParts, release: Admission<R>["release"]) => R;
  readonly observe?: AdmissionDeps<R>["observe"];
}

/** The service below HTTP on PostgreSQL, one of any number of servers on the same database. */
export interface SharedCore<R extends Runs> extends SharedParts {
  readonly pool: pg.Pool;
  readonly makeId: MakeId;
  readonly admission: Admission<R>;
  readonly runs: R;
  /** Turns away all waiters and every later start. Sent again to another server, a request keeps its place. */
  turnAway(): Promise<void>;
  /** Called when no more requests come. */
  close(): Promise<void>;
}

/** @throws PipelineError `internal` when the database can't be used; then nothing is left open. */
export async function openSharedCore<R extends Runs>(deps: SharedCoreDeps<R>): Promise<SharedCore<R>> {
  const { url, log, instance, makeRuns, observe } = deps;
  await using opened = new AsyncDisposableStack();
  const { db, pool } = await openPostgres(url, (error) => log("warn", "a connection broke", { error }));
  opened.defer(() => db.destroy());
  const clock = deps.clock ?? opened.use(await databaseClock(db, log).catch(unusable));
  const bus = await PostgresBus.listen({ url, db, clock, log, instance }).catch(unusable);
  opened.defer(() => bus.close());
  // How long a write waits for others is time of the machine's, not the service's.
  const writer = new PostgresWriter(db, systemClock);
  const parts = { db, writer, clock, bus, log };
  const makeId = idMaker(clock.now);
  const admission = new Admission<R>({
    ...{ db, writer, clock, bus, log, makeId },
    store: new PostgresAdmission(() => (bus.isRetired ? undefined : instance)),
    // Until a runner takes the run and puts its own name here.
    runner: "none yet",
    holder: instance,
    makeRuns: (release) => makeRuns(parts, release),
    ...(observe === undefined ? {} : { observe }),
  });
  const stopFollowing = followOtherServers({ db, admission, bus, clock, log, holder: instance });
  const closing = opened.move();
  return {
    ...parts,
    pool,
    makeId,
    admission,
    runs: admission.runs,
    turnAway: () => admission.close(() => bus.retire()),
    async close() {
      await admission.runs.stopAll();
      await stopFollowing();
      await writer.close();
      await closing.disposeAsync();
    },
  };
}
