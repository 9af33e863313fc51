import type { Database } from "../tables.ts";

/** The artifacts of runs, and when the files of a run were removed. */
export async function artifacts(db: Database): Promise<void> {
  await db.schema
    .createTable("artifacts")
    .addColumn("run_id", "text", (column) => column.notNull().references("runs.id").onDelete("cascade"))
    .addColumn("position", "integer", (column) => column.notNull())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("file", "text", (column) => column.notNull())
    .addColumn("media_type", "text", (column) => column.notNull())
    .addColumn("bytes", "integer", (column) => column.notNull())
    .addColumn("created_at", "integer", (column) => column.notNull())
    .addPrimaryKeyConstraint("artifacts_key", ["run_id", "file"])
    .execute();
  await db.schema.alterTable("runs").addColumn("files_removed_at", "integer").execute();
}
