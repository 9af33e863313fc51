import { sql } from "kysely";
import type { BusEvent } from "../../service/store/eventBus.ts";
import type { Database } from "../../service/store/tables.ts";

/** The channel on which the servers of a database ring each other. */
export const channel = "pipeline_runs";

/** An event as a notification carries it. */
export function payloadOf(orgId: string, event: BusEvent): string {
  return JSON.stringify({ org: orgId, ...event });
}

/** Rings every server, in the transaction's commit if there is one. What has changed is read from the rows. */
export async function notify(db: Database, payloads: readonly string[]): Promise<void> {
  await sql`select pg_notify(${channel}, payload) from unnest(${[...payloads]}::text[]) payload`.execute(db);
}
