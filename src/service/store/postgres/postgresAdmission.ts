import { type Selectable, sql } from "kysely";
import { type AdmissionStore, queuedRequest, type StoredRequest, waiterRow } from "../../admission/queue.ts";
import type { Tables, Write } from "../tables.ts";
import { notify, payloadOf } from "./notify.ts";

/** How long a server's waiters count as alive after it has said so, in milliseconds. */
export const waiterMilliseconds = 1_000;
/** How long a server has to take over a run that another one has granted to its waiter, in milliseconds. */
const claimMilliseconds = 1_000;
/** How long a server has from a grant until its caller has the reply, in milliseconds. */
const replyMilliseconds = 15_000;

/** Milliseconds since 1970 by the database's clock, in SQL. `clock_timestamp`: a transaction may have waited for its lock. */
export const databaseNow = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`;

/**
 * Admission on PostgreSQL: the org's row is the lock. Each check is a statement of its own behind it, since a check in the
 * statement that takes the lock would read the rows as they were before it waited.
 */
export const postgresAdmission: AdmissionStore = {
  async lock(tx, orgId) {
    await sql`select 1 from orgs where id = ${orgId} for update`.execute(tx);
    return readDatabaseTime(tx);
  },
  async addWaiter(tx, request, { holder, ticket, now }) {
    const place = ticket ?? (await placeOfBefore(tx, request, now)) ?? (await nextTicket(tx));
    await tx
      .insertInto("waiters")
      .values({
        ...waiterRow(request, place, holder),
        work: request.work,
        alive_until: now + waiterMilliseconds,
      })
      .execute();
    return place;
  },
  async takeOldest(tx, orgId, now) {
    // After a restart of the database nobody has had the time yet to say that they live.
    const { rows } = await sql<Selectable<Tables["waiters"]>>`
      delete from waiters where ticket = (
        select ticket from waiters
        where org_id = ${orgId} and (alive_until > ${now} or ${now} < ${restartedAt} + ${2 * waiterMilliseconds})
        order by ticket limit 1
      ) returning *`.execute(tx);
    return rows[0] === undefined ? undefined : queuedRequest(rows[0]);
  },
  async insertRun(tx, { row, work, ticket }, now) {
    const values = {
      ...row,
      work: work ?? "",
      ticket: ticket ?? null,
      lease_until: now + (ticket === undefined ? replyMilliseconds : claimMilliseconds),
    };
    const given = Object.entries(values).filter(([, value]) => value !== null);
    const columns = given.map(([name]) => sql.raw(name));
    // The unique index of slots is the backstop of the limit.
    await sql`
      insert into runs (${sql.join(columns)}, slot)
      select ${sql.join(given.map(([, value]) => typed(value)))}, (
        select min(slot) from generate_series(1, (select parallel_runs from orgs where id = ${row.org_id})) slot
        where slot not in (select slot from runs where org_id = ${row.org_id} and stopped_at is null)
      )`.execute(tx);
  },
  ring: (tx, orgId) => notify(tx, [payloadOf(orgId, { kind: "org" })]),
  async claim(tx, ticket, now) {
    const run = await tx
      .updateTable("runs")
      .set({ ticket: null, lease_until: now + replyMilliseconds })
      .where("ticket", "=", ticket)
      .returning("id")
      .executeTakeFirst();
    return run?.id;
  },
  async keep(tx, runId, now) {
    await tx
      .updateTable("runs")
      .set({ launched_at: now, ticket: null, holder: null, lease_until: null })
      .where("id", "=", runId)
      .where("launched_at", "is", null)
      .where("stopped_at", "is", null)
      .execute();
  },
};

/** When the database was started, in milliseconds since 1970. */
export const restartedAt = sql<number>`(extract(epoch from pg_postmaster_start_time()) * 1000)::bigint`;

async function readDatabaseTime(tx: Write): Promise<number> {
  const { rows } = await sql<{ now: number }>`select ${databaseNow} as now`.execute(tx);
  const [row] = rows;
  if (row === undefined) throw new Error("the database has not told the time");
  return row.now;
}

/**
 * The ticket of the same request, sent again since the server that held it is gone: it loses no place. Taken out of the
 * queue.
 */
async function placeOfBefore(
  tx: Write,
  { actor, idempotencyKey }: StoredRequest,
  now: number,
): Promise<string | undefined> {
  if (idempotencyKey === undefined) return undefined;
  const before = await tx
    .deleteFrom("waiters")
    .where("actor", "=", actor)
    .where("idempotency_key", "=", idempotencyKey)
    .where("alive_until", "<", now)
    .returning("ticket")
    .execute();
  return before.map((row) => row.ticket).sort()[0];
}

/** Under the org's lock, so that tickets are in the order of their requests on all servers. */
async function nextTicket(tx: Write): Promise<string> {
  const { rows } = await sql<{ ticket: string }>`
    select 'ticket_' || lpad(nextval('tickets')::text, 16, '0') as ticket`.execute(tx);
  const [row] = rows;
  if (row === undefined) throw new Error("the database has made no ticket");
  return row.ticket;
}

/** A parameter of a `select` list has no type of its own. */
function typed(value: string | number | null) {
  return typeof value === "number" ? sql`${value}::bigint` : sql`${value}::text`;
}
