import type { Selectable } from "kysely";
import type { Database, Tables, Write } from "../store/tables.ts";
import type { EnterRequest } from "./waiter.ts";

/** A start request as rows have it. */
export type StoredRequest = Omit<EnterRequest, "work"> & {
  /** PostgreSQL only: a `RunWork` as JSON, for a grant by another server. */
  readonly work: string | undefined;
};

/** The request as rows hold it. */
export function storedRequest({ work, ...request }: EnterRequest): StoredRequest {
  return { ...request, work: "definition" in work ? JSON.stringify(work.definition) : undefined };
}

/** A request in the queue. */
export interface QueuedRequest {
  readonly ticket: string;
  /** The start of a service that holds it. */
  readonly holder: string;
  readonly request: StoredRequest;
}

/** A run that is being granted. */
interface NewRun {
  readonly row: Pick<
    Selectable<Tables["runs"]>,
    | ("id" | "org_id" | "project" | "pipeline" | "actor" | "runner" | "status" | "day" | "created_at")
    | ("stopped_at" | "time_limit_seconds" | "reason" | "idempotency_key" | "holder")
  >;
  readonly work: string | undefined;
  /** The waiter of another server that it is granted to. */
  readonly ticket: string | undefined;
}

/** What admission asks of its database where SQLite and PostgreSQL differ. Times are milliseconds since 1970. */
export interface AdmissionStore {
  /** Locks the org until the transaction's end. @returns the time, by which the transaction decides. */
  lock(tx: Write, orgId: string): Promise<number>;
  /** Puts a request into the queue: at its end, or at the place of the ticket that it had. @returns its ticket. */
  addWaiter(
    tx: Write,
    request: StoredRequest,
    place: { readonly holder: string; readonly ticket: string | undefined; readonly now: number },
  ): Promise<string>;
  /** Takes the org's waiter that has waited longest out of the queue, and passes over those whose service is gone. */
  takeOldest(tx: Write, orgId: string, now: number): Promise<QueuedRequest | undefined>;
  insertRun(tx: Write, run: NewRun, now: number): Promise<void>;
  /** Tells the other servers in the same commit that a request of theirs was decided on. */
  ring(tx: Write, orgId: string): Promise<void>;
  /** Takes over a run that another server has granted to this ticket. @returns its id. */
  claim(tx: Write, ticket: string, now: number): Promise<string | undefined>;
  /** Keeps a granted run from being withdrawn: a repeated request gets it as its reply. */
  keep(tx: Write, runId: string, now: number): Promise<void>;
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
    holder,
  };
}

/** Takes the waiters with the same idempotency key out of the queue: one request, sent again. */
export async function takeSameRequest(
  tx: Write,
  { actor, idempotencyKey }: StoredRequest,
): Promise<readonly Pick<QueuedRequest, "ticket" | "holder">[]> {
  if (idempotencyKey === undefined) return [];
  return tx
    .deleteFrom("waiters")
    .where("actor", "=", actor)
    .where("idempotency_key", "=", idempotencyKey)
    .returning(["ticket", "holder"])
    .execute();
}

/** Whether a ticket is in the queue. */
export async function isQueued(tx: Write, ticket: string): Promise<boolean> {
  const row = await tx.selectFrom("waiters").select("ticket").where("ticket", "=", ticket).executeTakeFirst();
  return row !== undefined;
}

export async function removeWaiter(tx: Write, ticket: string): Promise<void> {
  await tx.deleteFrom("waiters").where("ticket", "=", ticket).execute();
}

/** Removes the waiters of earlier starts of the service: their connections are closed. */
export async function sweepWaiters(tx: Write, holder: string): Promise<void> {
  await tx.deleteFrom("waiters").where("holder", "!=", holder).execute();
}

/** The number of start requests that wait for a slot of the org. */
export async function countWaiters(db: Database, orgId: string): Promise<number> {
  const { count } = await db
    .selectFrom("waiters")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("org_id", "=", orgId)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** The request that a row of the queue holds. */
export function queuedRequest(
  row: Omit<Selectable<Tables["waiters"]>, "work" | "alive_until"> & { readonly work?: string },
): QueuedRequest {
  return {
    ticket: row.ticket,
    holder: row.holder,
    request: {
      orgId: row.org_id,
      actor: row.actor,
      project: row.project,
      pipeline: row.pipeline,
      timeLimitSeconds: row.time_limit_seconds,
      idempotencyKey: row.idempotency_key ?? undefined,
      work: row.work,
    },
  };
}
