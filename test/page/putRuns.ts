import type { Insertable } from "kysely";
import { utcDay } from "../../src/contract/limits.ts";
import type { Database, Tables } from "../../src/service/store/tables.ts";

type RunRow = Partial<Insertable<Tables["runs"]>>;

/** Puts runs of an org into the database as if they had run, the first the oldest, and all of them before any real one. */
export async function putRuns(db: Database, orgId: string, runs: readonly RunRow[]): Promise<string[]> {
  const now = Date.now();
  const rows = runs.map((run, position) => ({
    id: `run_01jd0v4w2m5cps6qkj8tr3h${String(position).padStart(3, "0")}`,
    org_id: orgId,
    project: "shop",
    pipeline: "hello",
    actor: "key_01jd0v4w2m5cps6qkj8tr3h9xe",
    runner: "embedded@test",
    status: "succeeded",
    day: utcDay(now),
    created_at: now - 60_000,
    stopped_at: now - 57_000,
    time_limit_seconds: 30,
    reason: null,
    idempotency_key: null,
    ...run,
  }));
  await db.insertInto("runs").values(rows).execute();
  return rows.map(({ id }) => id);
}
