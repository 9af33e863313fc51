import type { Database } from "../tables.ts";

/** Keys may have a name, and are looked up by their org when they are listed. */
export async function keyNames(db: Database): Promise<void> {
  await db.schema.alterTable("keys").addColumn("name", "text").execute();
  await db.schema.createIndex("keys_of_org").on("keys").column("org_id").execute();
}
