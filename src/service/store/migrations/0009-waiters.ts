import type { Database } from "../tables.ts";

/** Starts that wait for a slot. */
export async function waiters(db: Database): Promise<void> {
  await db.schema
    .createTable("waiters")
    .addColumn("ticket", "text", (column) => column.primaryKey())
    .addColumn("org_id", "text", (column) => column.notNull().references("orgs.id"))
    .addColumn("actor", "text", (column) => column.notNull())
    .addColumn("project", "text", (column) => column.notNull())
    .addColumn("pipeline", "text", (column) => column.notNull())
    .addColumn("time_limit_seconds", "integer", (column) => column.notNull())
    .addColumn("idempotency_key", "text")
    .addColumn("holder", "text", (column) => column.notNull())
    .execute();
  await db.schema.createIndex("waiters_of_org").on("waiters").columns(["org_id", "ticket"]).execute();
  await db.schema
    .createIndex("waiters_by_idempotency_key")
    .on("waiters")
    .columns(["actor", "idempotency_key"])
    .execute();
}
