import { sql } from "kysely";
import type { BusEvent } from "../../service/store/eventBus.ts";
import type { Database } from "../../service/store/tables.ts";

/** The events between servers: changes, and that a run's log has grown, a runner may take a run, or a run is to be stopped. */
export type TeamEvent = BusEvent | { readonly kind: "log" | "work" | "stop"; readonly runId: string };

/** The channel on which the servers of a database notify each other. */
export const channel = "pipeline_runs";

/** An event as a notification carries it. */
export function payloadOf(orgId: string, event: TeamEvent): string {
  return JSON.stringify({ org: orgId, ...event });
}

/** Notifies every server, at the commit if there is a transaction. The servers read from the rows what has changed. */
export async function notify(db: Database, payloads: readonly string[]): Promise<void> {
  await sql`select pg_notify(${channel}, payload) from unnest(${[...payloads]}::text[]) payload`.execute(db);
}
