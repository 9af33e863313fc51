import { type RawBuilder, type Selectable, sql } from "kysely";
import type { Queue } from "../../contract/queue.ts";
import type { ServedRun } from "../../contract/run.ts";
import { inputsColumn, readInputsColumn } from "../store/runInputs.ts";
import type { Database, Tables, Write } from "../store/tables.ts";
import type { Quota } from "./slots.ts";
import type { EnterRequest } from "./waiter.ts";

/** A start request as rows have it. */
export type StoredRequest = Omit<EnterRequest, "work" | "given"> & {
  /** When it arrived, in milliseconds since 1970. */
  readonly askedAt: number | null;
  /** PostgreSQL only: a `RunWork` as JSON, for a grant by another server. */
  readonly work: string | undefined;
};

/** The request as rows hold it. */
export function storedRequest({ work, given: _, ...request }: EnterRequest, askedAt: number): StoredRequest {
  return { ...request, askedAt, work: "definition" in work ? JSON.stringify(work.definition) : undefined };
}

/** A request in the queue. */
export interface QueuedRequest {
  readonly ticket: string;
  /** The start of a service that holds it. */
  readonly holder: string;
  readonly request: StoredRequest;
  /** It was sent again elsewhere while its service was out of touch, and started there. */
  readonly hasRun: boolean;
}

/** A run that is being granted. */
export interface NewRun {
  readonly row: Pick<
    Selectable<Tables["runs"]>,
    | ("id" | "org_id" | "project" | "pipeline" | "actor" | "runner" | "status" | "day" | "created_at")
    | ("stopped_at" | "time_limit_seconds" | "reason" | "agent" | "asked_at" | "idempotency_key" | "holder")
    | ("inputs" | "outputs")
  >;
  readonly work: string | undefined;
  /** The waiter of another server that it is granted to. */
  readonly ticket: string | undefined;
}

/** A run that another server has granted to the waiter of a ticket. */
export interface ClaimedRun {
  readonly ticket: string;
  readonly run: ServedRun;
  readonly quota: Quota;
}

/** What admission asks of its database where SQLite and PostgreSQL differ. Times are milliseconds since 1970. */
export interface AdmissionStore {
  /** Whether a row of `waiters` counts: its service lives, or it was sent again to one that does. */
  readonly isWaiting: RawBuilder<boolean>;
  /** Locks the org until the transaction's end. @returns the time, by which the transaction decides. */
  lock(tx: Write, orgId: string): Promise<number>;
  /** Puts a request into the queue: at its end, or at the place of the ticket that it had. @returns its ticket. */
  addWaiter(
    tx: Write,
    request: StoredRequest,
    place: { readonly holder: string; readonly ticket: string | undefined },
  ): Promise<string>;
  /**
   * Takes the org's request that has waited longest out of the queue, and passes over those whose service is gone.
   * @returns its waiters: more than one when it was sent again, with the same idempotency key. Empty with the queue.
   */
  takeOldest(tx: Write, orgId: string, now: number): Promise<readonly QueuedRequest[]>;
  insertRun(tx: Write, run: NewRun, now: number): Promise<void>;
  /** Tells the other servers in the same commit that a request of theirs was decided on. */
  ring(tx: Write, orgId: string): Promise<void>;
  /** Takes over the runs that other servers have granted to a service's waiters. @param day the UTC day of the quota. */
  claim(db: Database, holder: string, day: string): Promise<readonly ClaimedRun[]>;
  /** Keeps a granted run from being withdrawn: a repeated request gets it as its reply. */
  keep(tx: Write, runId: string, now: number): Promise<void>;
}

/** The tickets of a waiter and of those with the same idempotency key: one request, sent again. @param oldest its row. */
export function withSameKey(oldest: RawBuilder<unknown>) {
  return sql`
    with oldest as (${oldest})
    select waiters.ticket from waiters join oldest on waiters.ticket = oldest.ticket
      or waiters.actor = oldest.actor and waiters.idempotency_key = oldest.idempotency_key`;
}

/** The columns of a request in the queue, for `insert`. */
export function waiterRow(request: StoredRequest, ticket: string, holder: string) {
  return {
    ticket,
    org_id: request.orgId,
    actor: request.actor,
    project: request.project,
    pipeline: request.pipeline,
    time_limit_seconds: request.timeLimitSeconds,
    idempotency_key: request.idempotencyKey ?? null,
    agent: request.agent ?? null,
    inputs: inputsColumn(request.inputs),
    asked_at: request.askedAt,
    holder,
  };
}

/** Whether a ticket is in the queue. */
export async function isQueued(tx: Write, ticket: string): Promise<boolean> {
  const row = await tx.selectFrom("waiters").select("ticket").where("ticket", "=", ticket).executeTakeFirst();
  return row !== undefined;
}

/** @returns whether the ticket was in the queue. */
export async function removeWaiter(tx: Write, ticket: string): Promise<boolean> {
  const { rows } = await sql`delete from waiters where ticket = ${ticket} returning ticket`.execute(tx);
  return rows.length > 0;
}

/** Removes the waiters of earlier starts of the service: their connections are closed. */
export async function sweepWaiters(tx: Write, holder: string): Promise<void> {
  await tx.deleteFrom("waiters").where("holder", "!=", holder).execute();
}

/** What rows of one start request have in common: it has several while it is sent again. */
const oneRequest = sql`actor, pipeline, project, coalesce(idempotency_key, ticket)`;

/** How many start requests wait for a slot of the org, and the place of the one with the caller's idempotency key. */
export async function readQueue(
  db: Database,
  isWaiting: RawBuilder<boolean>,
  { orgId, actor, idempotencyKey }: Pick<EnterRequest, "orgId" | "actor" | "idempotencyKey">,
): Promise<Queue> {
  const { rows } = await sql<Record<"waiting" | "place", number>>`
    select count(*) as waiting, count(case when first <= (
      select min(ticket) from waiters
      where org_id = ${orgId} and actor = ${actor} and idempotency_key = ${idempotencyKey ?? null}
    ) then 1 end) as place
    from (
      select min(ticket) as first from waiters where org_id = ${orgId} and ${isWaiting} group by ${oneRequest}
    ) as queue`.execute(db);
  const { waiting = 0, place = 0 } = rows[0] ?? {};
  return { waiting: Number(waiting), ...(Number(place) === 0 ? {} : { place: Number(place) }) };
}

/** A start request in the queue, as its org's members see it. */
export type WaitingStart = Pick<Selectable<Tables["waiters"]>, "ticket" | "pipeline" | "project" | "actor">;

/** The start requests that wait for a slot of the org, who came first before the others. */
export async function firstWaiters(
  db: Database,
  isWaiting: RawBuilder<boolean>,
  orgId: string,
  limit: number,
): Promise<WaitingStart[]> {
  return db
    .selectFrom("waiters")
    .select(({ fn }) => ["pipeline", "project", "actor", fn.min("ticket").as("ticket")])
    .where("org_id", "=", orgId)
    .where(isWaiting)
    .groupBy(oneRequest)
    .orderBy("ticket")
    .limit(limit)
    .execute();
}

/** The columns of a request in the queue, as both databases have them. */
export const waiterColumns = sql.raw(
  "ticket, org_id, actor, project, pipeline, time_limit_seconds, idempotency_key, agent, inputs, asked_at, holder",
);
export type WaiterRow = Omit<Selectable<Tables["waiters"]>, "work"> & {
  readonly work?: string;
  readonly has_run?: boolean;
};

/** The requests that rows of the queue hold, those who came first before the others. */
export function queuedRequests(rows: readonly WaiterRow[]): QueuedRequest[] {
  return rows.map(queuedRequest).sort((one, other) => (one.ticket < other.ticket ? -1 : 1));
}

function queuedRequest(row: WaiterRow): QueuedRequest {
  return {
    ticket: row.ticket,
    holder: row.holder,
    hasRun: row.has_run ?? false,
    request: {
      orgId: row.org_id,
      actor: row.actor,
      project: row.project,
      pipeline: row.pipeline,
      timeLimitSeconds: row.time_limit_seconds,
      idempotencyKey: row.idempotency_key ?? undefined,
      agent: row.agent ?? undefined,
      inputs: readInputsColumn(row.inputs),
      askedAt: row.asked_at,
      work: row.work,
    },
  };
}
