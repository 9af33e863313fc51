import { type Selectable, sql } from "kysely";
import type { Database, Tables, Write } from "../store/tables.ts";
import type { EnterRequest } from "./waiter.ts";

/** A row of the queue: first come, first served, by its ticket. */
type WaiterRow = Omit<Selectable<Tables["waiters"]>, "work" | "alive_until" | "run_id">;

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

/** Takes the org's waiter that has waited longest out of the queue. */
export async function takeOldest(tx: Write, orgId: string): Promise<WaiterRow | undefined> {
  const { rows } = await sql<WaiterRow>`
    delete from waiters where ticket =
      (select ticket from waiters where org_id = ${orgId} order by ticket limit 1)
    returning *`.execute(tx);
  return rows[0];
}

/** Takes the waiters with the same idempotency key out of the queue: one request, sent again. */
export async function takeSameRequest(
  tx: Write,
  { actor, idempotency_key: key }: WaiterRow,
): Promise<readonly Pick<WaiterRow, "ticket">[]> {
  if (key === null) return [];
  const { rows } = await sql<Pick<WaiterRow, "ticket">>`
    delete from waiters where actor = ${actor} and idempotency_key = ${key} returning ticket`.execute(tx);
  return rows;
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
