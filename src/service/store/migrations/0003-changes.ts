import type { Database } from "../tables.ts";

/** A number for each change in an org, and for each run the number of its last one. */
export async function changes(db: Database): Promise<void> {
  await db.schema
    .alterTable("orgs")
    .addColumn("sequence", "integer", (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema
    .alterTable("runs")
    .addColumn("changed", "integer", (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema.createIndex("runs_by_change").on("runs").columns(["org_id", "changed"]).execute();
}
