import { sql } from "kysely";
import { dayMilliseconds } from "../../contract/day.ts";
import { markFilesRemoved } from "../../service/store/runFiles.ts";
import type { Write } from "../../service/store/tables.ts";
import type { Writer } from "../../service/store/writer.ts";
import { removePipelinesOf } from "./storedPipelines.ts";
import { removeOldSnapshots } from "./storedSnapshots.ts";

/** One server sweeps at a time. */
const sweepLock = 4_130_552;
/** The most runs, and snapshots, of one transaction: neither other requests nor its connection wait for long. */
const batch = 10;

/**
 * Removes the logs, artifacts, pipelines and snapshots that are past their retention; the runs themselves stay for good.
 * @param now milliseconds since 1970.
 * @returns the number of runs whose files were removed.
 */
export async function sweepStored(writer: Writer, days: number, now: number): Promise<number> {
  const before = now - days * dayMilliseconds;
  for (let count = 0; ; ) {
    const swept = await writer.write((tx) => sweepBatch(tx, before, now));
    count += swept.runs;
    if (swept.runs < batch && swept.snapshots < batch) return count;
  }
}

async function sweepBatch(
  tx: Write,
  before: number,
  now: number,
): Promise<{ readonly runs: number; readonly snapshots: number }> {
  const { rows } = await sql<{
    has: boolean;
  }>`select pg_try_advisory_xact_lock(${sweepLock}::bigint) as has`.execute(tx);
  if (rows[0]?.has !== true) return { runs: 0, snapshots: 0 };
  const ended = await tx
    .selectFrom("runs")
    .select("id")
    .where("files_removed_at", "is", null)
    .where("stopped_at", "<", before)
    .limit(batch)
    .execute();
  const runIds = ended.map(({ id }) => id);
  if (runIds.length > 0) {
    await tx.deleteFrom("log_chunks").where("run_id", "in", runIds).execute();
    await tx.deleteFrom("artifact_contents").where("run_id", "in", runIds).execute();
    await markFilesRemoved(tx, runIds, now);
    await removePipelinesOf(tx, runIds);
  }
  return { runs: runIds.length, snapshots: await removeOldSnapshots(tx, before, now, batch) };
}
