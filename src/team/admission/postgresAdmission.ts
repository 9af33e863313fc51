import { type RawBuilder, type Selectable, sql } from "kysely";
import type { AdmissionStore, Decision, NewRun } from "../../service/admission/decision.ts";
import { Waiter } from "../../service/admission/decision.ts";
import { waiterRow, withSameKey } from "../../service/admission/queue.ts";
import { readInputsColumn } from "../../service/store/runInputs.ts";
import { asRun, type RunRow, runColumns } from "../../service/store/runs.ts";
import type { Database, Tables, Write } from "../../service/store/tables.ts";
import { databaseNow } from "../store/databaseClock.ts";
import { isJustStarted } from "../store/servers.ts";
import { replyMilliseconds } from "../store/work.ts";

/** How long a server has to take over a run that another one has granted to its waiter, in milliseconds. */
const claimMilliseconds = 1_000;

/**
 * Admission on PostgreSQL: the org's row is the lock. Each check is a statement of its own after the lock is taken: within the
 * statement that takes it, a check would read the rows as they were before the wait.
 */
export class PostgresAdmission implements AdmissionStore {
  readonly #self: () => string | undefined;

  /** @param self this server's id, whose own waiters always count as alive; undefined once it has retired. */
  constructor(self: () => string | undefined) {
    this.#self = self;
  }

  get isWaiting() {
    return isWaiting(this.#aliveAt(databaseNow));
  }

  async lock(tx: Write, orgId: string): Promise<number> {
    // `materialized`: the time is read once the lock is taken.
    const { rows } = await sql<{ now: number }>`
      with org as materialized (select id from orgs where id = ${orgId} for update)
      select ${databaseNow} as now from org`.execute(tx);
    const [row] = rows;
    if (row === undefined) throw new Error(`there is no org ${orgId}`);
    return row.now;
  }

  /** A waiter that had a ticket gets its old place. */
  async addWaiter({ tx, holder }: Decision, waiter: Waiter): Promise<string> {
    const ticket = waiter.ticket ?? (await nextTicket(tx));
    await tx
      .insertInto("waiters")
      .values({ ...waiterRow(waiter, ticket, holder), ...workColumns(waiter) })
      .execute();
    return ticket;
  }

  async takeOldest(
    { tx, now, waiters, holder }: Parameters<AdmissionStore["takeOldest"]>[0],
    orgId: string,
  ): Promise<readonly Waiter[] | undefined> {
    const alive = this.#aliveAt(now);
    const oldest = sql`
      select ticket, actor, idempotency_key from waiters
      where org_id = ${orgId} and ${isWaiting(alive)} order by ticket limit 1
      for update skip locked`;
    const { rows } = await sql<QueuedRow>`
      delete from waiters where ticket in (${withSameKey(oldest)})
      returning ticket, org_id, actor, project, pipeline, time_limit_seconds, idempotency_key, agent, inputs, asked_at,
        holder, work, git_commit, holder in (${alive}) as is_alive`.execute(tx);
    if (rows.length === 0) return undefined;
    return rows
      .filter((row) => row.is_alive)
      .sort((one, other) => (one.ticket < other.ticket ? -1 : 1))
      .flatMap((row) => (row.holder === holder ? (waiters.get(row.ticket) ?? []) : new WaiterElsewhere(row)));
  }

  async insertRun({ tx, now, holder }: Decision, row: NewRun, waiter: Waiter): Promise<void> {
    const isElsewhere = waiter instanceof WaiterElsewhere;
    const values = {
      ...row,
      holder: isElsewhere ? waiter.holder : holder,
      ticket: isElsewhere ? waiter.ticket : null,
      ...workColumns(waiter),
      lease_until: now + (isElsewhere ? claimMilliseconds : replyMilliseconds),
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

  async joinRun({ tx, now }: Decision, runId: string, waiter: Waiter | undefined): Promise<true> {
    // The request enters again at its own server, which keeps the run.
    if (waiter instanceof WaiterElsewhere) return true;
    await tx
      .updateTable("runs")
      .set({ launched_at: now, ticket: null, holder: null, lease_until: null })
      .where("id", "=", runId)
      .where("launched_at", "is", null)
      .where("stopped_at", "is", null)
      .execute();
    return true;
  }

  /** The servers that live at a time, in milliseconds since 1970. */
  #aliveAt(time: unknown) {
    return sql`
      select id from servers where alive_until > ${time} or ${isJustStarted}
      union all select ${this.#self() ?? ""}::text`;
  }
}

/** Whether a row counts: its server lives, or its request was sent again to one that does, and so keeps its place. */
function isWaiting(alive: RawBuilder<unknown>) {
  return sql<boolean>`(
    waiters.holder in (${alive}) or exists (
      select 1 from waiters as again where again.holder in (${alive})
        and again.actor = waiters.actor and again.idempotency_key = waiters.idempotency_key
    )
  )`;
}

interface QueuedRow extends Selectable<Tables["waiters"]> {
  readonly is_alive: boolean;
}

/** A waiter of another server. That server answers it, once it has read the decision from the rows. */
class WaiterElsewhere extends Waiter {
  override readonly ticket: string;
  readonly holder: string;

  constructor(row: QueuedRow) {
    super(
      {
        orgId: row.org_id,
        actor: row.actor,
        project: row.project,
        pipeline: row.pipeline,
        timeLimitSeconds: row.time_limit_seconds,
        idempotencyKey: row.idempotency_key ?? undefined,
        agent: row.agent ?? undefined,
        inputs: readInputsColumn(row.inputs),
        work: {
          definition: row.work,
          ...(row.git_commit !== null && { commit: JSON.parse(row.git_commit) }),
        },
      },
      true,
    );
    this.ticket = row.ticket;
    this.askedAt = row.asked_at ?? undefined;
    this.holder = row.holder;
    this.outcome.catch(() => {});
  }
}

function workColumns({ request: { work } }: Waiter) {
  if (!("definition" in work)) return { work: "" };
  const { definition, commit } = work;
  return { work: definition, ...(commit && { git_commit: JSON.stringify(commit) }) };
}

/** Takes over the runs that other servers have granted to a server's waiters. @param day the UTC day of the quota. */
export async function claimRuns(db: Database, holder: string, day: string) {
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
