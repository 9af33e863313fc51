import type { Selectable } from "kysely";
import type { Database, Tables, Write } from "../store/tables.ts";

/** A row of the queue: a start that waits for a slot of its org, first come, first served by its ticket. */
export type WaiterRow = Selectable<Tables["waiters"]>;

/** The one that has waited for longest. */
export function oldestWaiter(tx: Write, orgId: string): Promise<WaiterRow | undefined> {
  return tx
    .selectFrom("waiters")
    .selectAll()
    .where("org_id", "=", orgId)
    .orderBy("ticket")
    .limit(1)
    .executeTakeFirst();
}

/** The others that were sent with the same key as this one: one wish, asked for again. */
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

/** Removes what earlier starts of the service have left: nobody holds their replies any more. */
export async function sweepWaiters(tx: Write, holder: string): Promise<void> {
  await tx.deleteFrom("waiters").where("holder", "!=", holder).execute();
}

/** How many starts wait for a slot of the org. */
export async function countWaiters(db: Database, orgId: string): Promise<number> {
  const { count } = await db
    .selectFrom("waiters")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("org_id", "=", orgId)
    .executeTakeFirstOrThrow();
  return Number(count);
}
