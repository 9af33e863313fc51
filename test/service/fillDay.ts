import { utcDay } from "../../src/contract/limits.ts";
import { openDatabase } from "../../src/service/store/openDatabase.ts";
import type { Database } from "../../src/service/store/tables.ts";
import { putRuns } from "../page/putRuns.ts";

/** Puts so many ended runs of today into a data folder's database, as if an org (the first, if none is named) had run them. */
export async function fillDay(
  folder: string,
  count: number,
  now = Date.now(),
  orgId?: string,
  idPart = "filled",
): Promise<void> {
  const db = await openDatabase(folder);
  await fillDayOf(db, count, now, orgId, idPart);
  await db.destroy();
}

/** The same in a database that is open. */
export async function fillDayOf(
  db: Database,
  count: number,
  now: number,
  orgId?: string,
  idPart = "filled",
): Promise<void> {
  const first = await db.selectFrom("orgs").select("id").orderBy("id").executeTakeFirstOrThrow();
  const when = { day: utcDay(now), created_at: now, stopped_at: now };
  const rows = Array.from({ length: count }, (_, position) => ({ id: `run_${idPart}_${position}`, ...when }));
  await putRuns(db, orgId ?? first.id, rows);
}
