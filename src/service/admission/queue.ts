import type { Selectable } from "kysely";
import type { Database, Tables, Write } from "../store/tables.ts";
import type { EnterRequest } from "./waiter.ts";

/** A row of the queue: first come, first served, by its ticket. */
type WaiterRow = Selectable<Tables["waiters"]>;

/** Puts a request at the end of the queue. */
export async function addWaiter(
  tx: Write,
  {
    ticket,
    holder,
    request,
  }: { readonly ticket: string; readonly holder: string; readonly request: EnterRequest },
): Promise<void> {
  const row: WaiterRow = {
    ticket,
    org_id: request.orgId,
    actor: request.actor,
    project: request.project,
    pipeline: request.pipeline,
    time_limit_seconds: request.timeLimitSeconds,
    idempotency_key: request.idempotencyKey ?? null,
    holder,
  };
  await tx.insertInto("waiters").values(row).execute();
}

/** The request that a row of the queue holds. */
export function requestOf(row: WaiterRow): Omit<EnterRequest, "work"> {
  return {
    orgId: row.org_id,
    actor: row.actor,
    project: row.project,
    pipeline: row.pipeline,
    timeLimitSeconds: row.time_limit_seconds,
    idempotencyKey: row.idempotency_key ?? undefined,
  };
}

/** The org's waiter that has waited longest. */
export function oldestWaiter(tx: Write, orgId: string): Promise<WaiterRow | undefined> {
  return tx
    .selectFrom("waiters")
    .selectAll()
    .where("org_id", "=", orgId)
    .orderBy("ticket")
    .limit(1)
    .executeTakeFirst();
}

/** The other waiters with the same idempotency key: one request, sent again. */
export async function sameRequest(
  tx: Write,
  { actor, idempotency_key: key, ticket }: WaiterRow,
): Promise<WaiterRow[]> {
  if (key === null) return [];
  return tx
    .selectFrom("waiters")
    .selectAll()
    .where("actor", "=", actor)
    .where("idempotency_key", "=", key)
    .where("ticket", "!=", ticket)
    .execute();
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
