import { sql } from "kysely";
import { type Clock, systemClock } from "../../machine/clock.ts";
import type { Log } from "../../machine/log.ts";
import type { Database } from "../../service/store/tables.ts";

/** `databaseNow` as a text. `clock_timestamp`, not `now`: a transaction may have waited for its lock. */
export const databaseNowText = "(extract(epoch from clock_timestamp()) * 1000)::bigint";
/** Milliseconds since 1970 by the database's clock, in SQL. */
export const databaseNow = sql.raw<number>(databaseNowText);
/**
 * When the database was started, in milliseconds since 1970. 0 if that lies in the future, since the clock was set back:
 * otherwise no server would count as dead until the clock has caught up (see `isJustStarted`).
 */
export const restartedAt = sql<number>`(
  case when pg_postmaster_start_time() > clock_timestamp() + interval '20 s' then 0
  else extract(epoch from pg_postmaster_start_time()) * 1000 end
)::bigint`;

/** How often the database's time is read again, in milliseconds: two machines' clocks drift apart slowly. */
const readAgain = 10_000;
/** A reading that takes longer, in milliseconds, isn't exact enough. */
const exactMilliseconds = 500;

/**
 * A clock whose time of day is the database's, so that all servers have the same one. Between two readings it goes by the
 * machine's monotonic time: setting the machine's clock changes nothing.
 */
export async function databaseClock(db: Database, log: Log): Promise<Clock & Disposable> {
  let ahead: number | undefined;
  const read = async () => {
    const before = systemClock.monotonic();
    const { rows } = await sql<{ now: number }>`select ${databaseNow} as now`.execute(db);
    const after = systemClock.monotonic();
    const [row] = rows;
    // A slow reading, as when this process was suspended, is less exact than the one before.
    if (row !== undefined && (ahead === undefined || after - before < exactMilliseconds))
      ahead = row.now - (before + after) / 2;
  };
  await read();
  const timer = setInterval(() => {
    read().catch((error: unknown) => log("warn", "the database's time can't be read", { error }));
  }, readAgain);
  return {
    ...systemClock,
    now: () => Math.round(systemClock.monotonic() + (ahead ?? 0)),
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
