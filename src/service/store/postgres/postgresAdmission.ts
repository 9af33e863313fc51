import { type Selectable, sql } from "kysely";
import {
  type AdmissionStore,
  queuedRequests,
  type StoredRequest,
  waiterRow,
  withSameKey,
} from "../../admission/queue.ts";
import { asRun } from "../runs.ts";
import type { Tables, Write } from "../tables.ts";
import { notify, payloadOf } from "./notify.ts";

/** How long a server's waiters count as alive after it has said so, in milliseconds. */
export const waiterMilliseconds = 1_000;
/** How long a server has to take over a run that another one has granted to its waiter, in milliseconds. */
const claimMilliseconds = 1_000;
/** How long a server has from a grant until its caller has the reply, in milliseconds. */
export const replyMilliseconds = 15_000;

/** Milliseconds since 1970 by the database's clock, in SQL. `clock_timestamp`: a transaction may have waited for its lock. */
export const databaseNow = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`;

/**
 * Admission on PostgreSQL: the org's row is the lock. Each check is a statement of its own behind it, since a check in the
 * statement that takes the lock would read the rows as they were before it waited.
 */
export const postgresAdmission: AdmissionStore = {
  async lock(tx, orgId) {
    // The time is read once the lock is had, for each row that comes out of `org`.
    const { rows } = await sql<{ now: number }>`
      with org as materialized (select id from orgs where id = ${orgId} for update)
      select ${databaseNow} as now from org`.execute(tx);
    const [row] = rows;
    if (row === undefined) throw new Error(`there is no org ${orgId}`);
    return row.now;
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
    const { rows } = await sql<Selectable<Tables["waiters"]> & { has_run: boolean }>`
      delete from waiters where ticket in (${withSameKey(
        sql`select ticket, actor, idempotency_key from waiters
          where org_id = ${orgId} and (alive_until > ${now} or ${now} < ${restartedAt} + ${2 * waiterMilliseconds})
          order by ticket limit 1`,
      )}) returning *, exists (
        select 1 from runs where runs.actor = waiters.actor and runs.idempotency_key = waiters.idempotency_key
      ) as has_run`.execute(tx);
    // The same request sent again may have waited before on a server that is gone: the run isn't granted to that one.
    const isAlive = (row: (typeof rows)[number]) => row.alive_until > now;
    return [...queuedRequests(rows.filter(isAlive)), ...queuedRequests(rows.filter((row) => !isAlive(row)))];
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
  async claim(db, holder, day) {
    const { rows } = await sql<Selectable<Tables["runs"]> & ClaimedColumns>`
      with claimed as (
        update runs set ticket = null, lease_until = ${databaseNow} + ${replyMilliseconds}
        from (select id, ticket from runs where holder = ${holder} and ticket is not null) as granted
        where runs.id = granted.id and runs.ticket is not null
        returning runs.*, granted.ticket as claimed_ticket
      )
      select claimed.*, parallel_runs, runs_per_day,
        (select count(*) from runs where runs.org_id = claimed.org_id and runs.day = ${day}) as runs_today
      from claimed join orgs on orgs.id = claimed.org_id`.execute(db);
    return rows.map((row) => ({
      ticket: row.claimed_ticket,
      run: asRun(row),
      quota: {
        limits: { parallelRuns: row.parallel_runs, runsPerDay: row.runs_per_day },
        usage: { runsToday: row.runs_today },
      },
    }));
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

interface ClaimedColumns {
  readonly claimed_ticket: string;
  readonly parallel_runs: number;
  readonly runs_per_day: number;
  readonly runs_today: number;
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
