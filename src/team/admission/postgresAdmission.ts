import { type RawBuilder, type Selectable, sql } from "kysely";
import {
  type AdmissionStore,
  type ClaimedRun,
  type NewRun,
  type QueuedRequest,
  queuedRequests,
  type StoredRequest,
  waiterColumns,
  waiterRow,
  withSameKey,
} from "../../service/admission/queue.ts";
import { asRun, type RunRow, runColumns } from "../../service/store/runs.ts";
import type { Database, Tables, Write } from "../../service/store/tables.ts";
import { databaseNow } from "../store/databaseClock.ts";
import { notify, payloadOf } from "../store/notify.ts";
import { isJustStarted } from "../store/servers.ts";

/** How long a server has to take over a run that another one has granted to its waiter, in milliseconds. */
const claimMilliseconds = 1_000;
/** How long a server has from a grant until its caller has the reply, in milliseconds. */
export const replyMilliseconds = 15_000;

/**
 * Admission on PostgreSQL: the org's row is the lock. Each check is a statement of its own behind it, since a check in the
 * statement that takes the lock would read the rows as they were before it waited.
 */
export class PostgresAdmission implements AdmissionStore {
  readonly #self: () => string | undefined;

  /** @param self this server, while it answers its waiters: it needs no word of its own to know that they are there. */
  constructor(self: () => string | undefined) {
    this.#self = self;
  }

  get isWaiting() {
    return isWaiting(this.#aliveAt(databaseNow));
  }

  async lock(tx: Write, orgId: string): Promise<number> {
    // The time is read once the lock is had, for each row that comes out of `org`.
    const { rows } = await sql<{ now: number }>`
      with org as materialized (select id from orgs where id = ${orgId} for update)
      select ${databaseNow} as now from org`.execute(tx);
    const [row] = rows;
    if (row === undefined) throw new Error(`there is no org ${orgId}`);
    return row.now;
  }

  async addWaiter(
    tx: Write,
    request: StoredRequest,
    { holder, ticket }: Parameters<AdmissionStore["addWaiter"]>[2],
  ): Promise<string> {
    const place = ticket ?? (await nextTicket(tx));
    await tx
      .insertInto("waiters")
      .values({ ...waiterRow(request, place, holder), work: request.work })
      .execute();
    return place;
  }

  async takeOldest(tx: Write, orgId: string, now: number): Promise<readonly QueuedRequest[]> {
    const alive = this.#aliveAt(now);
    const { rows } = await sql<QueuedColumns>`
      delete from waiters where ticket in (${withSameKey(
        sql`select ticket, actor, idempotency_key from waiters
          where org_id = ${orgId} and ${isWaiting(alive)} order by ticket limit 1
          for update skip locked`,
      )}) returning ${waiterColumns}, work, holder in (${alive}) as is_alive, exists (
        select 1 from runs where runs.actor = waiters.actor and runs.idempotency_key = waiters.idempotency_key
      ) as has_run`.execute(tx);
    return [
      ...queuedRequests(rows.filter((row) => row.is_alive)),
      ...queuedRequests(rows.filter((row) => !row.is_alive)),
    ];
  }

  async insertRun(tx: Write, { row, work, ticket }: NewRun, now: number): Promise<void> {
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
  }

  async ring(tx: Write, orgId: string): Promise<void> {
    await notify(tx, [payloadOf(orgId, { kind: "org" })]);
  }

  async claim(db: Database, holder: string, day: string): Promise<readonly ClaimedRun[]> {
    const columnsOf = (table: string) => sql.join(runColumns.map((name) => sql.ref(`${table}.${name}`)));
    const { rows } = await sql<ClaimedColumns>`
      with claimed as (
        update runs set ticket = null,
          lease_until = case when stopped_at is null then ${databaseNow} + ${replyMilliseconds} end
        from (select id, ticket from runs where holder = ${holder} and ticket is not null) as granted
        where runs.id = granted.id and runs.ticket is not null
        returning ${columnsOf("runs")}, org_id, granted.ticket as claimed_ticket
      )
      select ${columnsOf("claimed")}, claimed_ticket, parallel_runs, runs_per_day,
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
  }

  async keep(tx: Write, runId: string, now: number): Promise<void> {
    await tx
      .updateTable("runs")
      .set({ launched_at: now, ticket: null, holder: null, lease_until: null })
      .where("id", "=", runId)
      .where("launched_at", "is", null)
      .where("stopped_at", "is", null)
      .execute();
  }

  /** The servers that live at a time, in milliseconds since 1970. */
  #aliveAt(time: unknown) {
    return sql`
      select id from servers where alive_until > ${time} or ${isJustStarted}
      union all select ${this.#self() ?? ""}::text`;
  }
}

/** Whose server is gone, and who was sent again, keeps its place. */
function isWaiting(alive: RawBuilder<unknown>) {
  return sql<boolean>`(
    waiters.holder in (${alive}) or exists (
      select 1 from waiters as again where again.holder in (${alive})
        and again.actor = waiters.actor and again.idempotency_key = waiters.idempotency_key
    )
  )`;
}

interface QueuedColumns extends Selectable<Tables["waiters"]> {
  readonly is_alive: boolean;
  /** It was sent again elsewhere while its server was out of touch, and started there. */
  readonly has_run: boolean;
}

interface ClaimedColumns extends RunRow {
  readonly claimed_ticket: string;
  readonly parallel_runs: number;
  readonly runs_per_day: number;
  readonly runs_today: number;
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
