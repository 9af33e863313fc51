import { sql } from "kysely";
import { dayMilliseconds } from "../../contract/limits.ts";
import { markFilesRemoved } from "../../service/store/runFiles.ts";
import type { Write } from "../../service/store/tables.ts";
import type { Writer } from "../../service/store/writer.ts";
import { artifactKey, listedFiles, logKey } from "./movedFiles.ts";
import type { ObjectStore } from "./objectStore.ts";
import { removePipelinesOf } from "./storedPipelines.ts";
import { removeOldSnapshots } from "./storedSnapshots.ts";

/** The advisory lock under which only one server sweeps at a time. */
const sweepLock = 4_130_552;
/** The most runs, and snapshots, of one transaction: neither other requests nor its connection wait for long. */
const batch = 10;

/**
 * Removes the logs, artifacts, pipelines and snapshots that are past their retention; the runs themselves stay for good.
 * @param now milliseconds since 1970.
 * @returns the number of runs whose files were removed.
 * @throws ObjectStoreError when their objects can't be removed; the rows stay then, and it is tried again.
 */
export async function sweepStored(
  writer: Writer,
  days: number,
  now: number,
  store?: ObjectStore,
): Promise<number> {
  const before = now - days * dayMilliseconds;
  // Snapshots first: they are in no object store, which may be out of reach.
  for (let removed = batch; removed === batch; )
    removed = await alone(writer, (tx) => removeOldSnapshots(tx, before, now, batch));
  for (let count = 0; ; ) {
    const old = await writer.write((tx) => oldRuns(tx, before));
    if (store !== undefined) await Promise.all(old.map((runId) => removeObjects(writer, store, runId)));
    const removed = old.length === 0 ? 0 : await alone(writer, (tx) => removeFiles(tx, old, now));
    count += removed;
    if (removed < batch) return count;
  }
}

/** Acts unless another server is sweeping now. @returns 0 if one is. */
function alone(writer: Writer, act: (tx: Write) => Promise<number>): Promise<number> {
  return writer.write(async (tx) => {
    const { rows } = await sql<{
      has: boolean;
    }>`select pg_try_advisory_xact_lock(${sweepLock}::bigint) as has`.execute(tx);
    return rows[0]?.has === true ? act(tx) : 0;
  });
}

async function oldRuns(tx: Write, before: number): Promise<readonly string[]> {
  const ended = await tx
    .selectFrom("runs")
    .select("id")
    .where("files_removed_at", "is", null)
    .where("stopped_at", "<", before)
    .limit(batch)
    .execute();
  return ended.map(({ id }) => id);
}

/** Also for a run that isn't noted as moved: the server that moved it may have died before that was noted. */
async function removeObjects(writer: Writer, store: ObjectStore, runId: string): Promise<void> {
  const listed = await writer.write((tx) => listedFiles(tx, runId));
  for (const key of [logKey(runId), ...listed.map(({ file }) => artifactKey(runId, file))])
    await store.delete(key);
}

/** Harmless if another server has done it meanwhile. */
async function removeFiles(tx: Write, runIds: readonly string[], now: number): Promise<number> {
  for (const table of ["log_chunks", "artifact_contents", "moved_runs"] as const)
    await tx.deleteFrom(table).where("run_id", "in", runIds).execute();
  await markFilesRemoved(tx, runIds, now);
  await removePipelinesOf(tx, runIds);
  return runIds.length;
}
