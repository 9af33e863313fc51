import { sql } from "kysely";
import type { BusEvent } from "../../service/store/eventBus.ts";
import type { Database } from "../../service/store/tables.ts";

/** What servers tell each other beside what changed: a run's log has grown, a runner may take a run, a run is to be stopped. */
export type TeamEvent = BusEvent | { readonly kind: "log" | "work" | "stop"; readonly runId: string };

/** The channel on which the servers of a database ring each other. */
export const channel = "pipeline_runs";

/** An event as a notification carries it. */
export function payloadOf(orgId: string, event: TeamEvent): string {
  return JSON.stringify({ org: orgId, ...event });
}

/** Rings every server, in the transaction's commit if there is one. What has changed is read from the rows. */
export async function notify(db: Database, payloads: readonly string[]): Promise<void> {
  await sql`select pg_notify(${channel}, payload) from unnest(${[...payloads]}::text[]) payload`.execute(db);
}
