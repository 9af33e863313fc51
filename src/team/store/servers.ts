import { sql } from "kysely";
import type pg from "pg";
import type { Database } from "../../service/store/tables.ts";
import { databaseNow, databaseNowText, restartedAt } from "./databaseClock.ts";

/** How often a server says that it lives, in milliseconds. */
export const beatMilliseconds = 250;
/** How long a server, and with it its waiters, counts as alive after it has said so, in milliseconds. */
export const aliveMilliseconds = 1_000;
/** How long a dead server's waiters are kept, in milliseconds: one that is sent again until then keeps its place. */
const keptMilliseconds = 60_000;

/** Says that a server lives, and which object store it names. */
export async function sayAlive(connection: pg.Client, id: string, objectStore = ""): Promise<void> {
  await connection.query(
    `insert into servers (id, alive_until, object_store) values ($1, ${databaseNowText} + ${aliveMilliseconds}, $2)
      on conflict (id) do update set alive_until = excluded.alive_until`,
    [id, objectStore],
  );
}

/** The living servers by their ids, each with the object store that it names. */
export function liveServers(db: Database) {
  return db
    .selectFrom("servers")
    .select(["id", "object_store"])
    .where("alive_until", ">", databaseNow)
    .orderBy("id")
    .execute();
}

/** Says that a server has ended. The rows of its waiters stay for a while: their requests are about to be sent again. */
export async function endServer(db: Database, id: string): Promise<void> {
  await db.updateTable("servers").set({ alive_until: databaseNow }).where("id", "=", id).execute();
}

/** Whether the database has been started just now, when no server has had the time yet to say that it lives. */
export const isJustStarted = sql<boolean>`(${databaseNow} < ${restartedAt} + ${sql.lit(2 * aliveMilliseconds)})`;

/**
 * Removes servers that have been dead for long, with their waiters. After the database's clock was set back, earlier heartbeats
 * count from now: otherwise a dead server would seem alive until the clock has caught up.
 */
export async function sweepServers(db: Database): Promise<void> {
  const alive = sql`${databaseNow} + ${sql.lit(aliveMilliseconds)}`;
  await sql`update servers set alive_until = ${alive} where alive_until > ${alive}`.execute(db);
  await sql`
    delete from servers where alive_until < ${databaseNow} - ${sql.lit(keptMilliseconds)} and not ${isJustStarted}`.execute(
    db,
  );
  await sql`delete from waiters where holder not in (select id from servers)`.execute(db);
}
