import type { Database } from "../tables.ts";

/** Who is signed in to the page. A session ends with its key. */
export async function sessions(db: Database): Promise<void> {
  await db.schema
    .createTable("sessions")
    .addColumn("hash", "text", (column) => column.primaryKey())
    .addColumn("key_id", "text", (column) => column.notNull().references("keys.id").onDelete("cascade"))
    .addColumn("created_at", "integer", (column) => column.notNull())
    .addColumn("used_at", "integer", (column) => column.notNull())
    .execute();
  await db.schema.createIndex("sessions_of_key").on("sessions").columns(["key_id"]).execute();
}
