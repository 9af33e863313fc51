import type { Artifact } from "../../contract/run.ts";
import { asTime } from "./keys.ts";
import { runRow, touchRun } from "./runChanges.ts";
import type { Database, Write } from "./tables.ts";

/** When a run's log and artifacts were removed, in milliseconds since 1970; undefined while they are there. */
export async function filesRemovedAt(db: Database, runId: string): Promise<number | undefined> {
  const row = await runRow(db, runId).select("files_removed_at").executeTakeFirst();
  return row?.files_removed_at ?? undefined;
}

/** Whether a run's files are kept; false for a run that doesn't exist. */
export async function keepsFiles(db: Database, runId: string): Promise<boolean> {
  const kept = runRow(db, runId).select("id").where("files_removed_at", "is", null);
  return (await kept.executeTakeFirst()) !== undefined;
}

export interface EndedRun {
  readonly runId: string;
  /** In milliseconds since 1970. */
  readonly stoppedAt: number;
}

/**
 * The ended runs of every org that have their files, the latest end first.
 * @param before the last run of the previous page.
 */
export async function endedRunsWithFiles(
  db: Database,
  before: EndedRun | undefined,
  limit: number,
): Promise<EndedRun[]> {
  let rows = db
    .selectFrom("runs")
    .select(["id", "stopped_at"])
    .where("stopped_at", "is not", null)
    .where("files_removed_at", "is", null);
  if (before !== undefined) {
    rows = rows.where(({ eb, refTuple, tuple }) =>
      eb(refTuple("stopped_at", "id"), "<", tuple(before.stoppedAt, before.runId)),
    );
  }
  const found = await rows.orderBy("stopped_at", "desc").orderBy("id", "desc").limit(limit).execute();
  return found.map(({ id, stopped_at }) => ({ runId: id, stoppedAt: stopped_at ?? 0 }));
}

/** Marks the files of runs as removed, and removes their pipeline files. The rows of the runs stay, and count in their day. */
export async function markFilesRemoved(tx: Write, runIds: readonly string[], now: number): Promise<void> {
  await tx.deleteFrom("artifacts").where("run_id", "in", runIds).execute();
  await tx
    .updateTable("runs")
    .set({ files_removed_at: now, source: null })
    .where("id", "in", runIds)
    .execute();
}

/** Adds an artifact whose file is in the run's folder. */
export async function addArtifact(tx: Write, runId: string, artifact: Artifact): Promise<void> {
  await tx
    .insertInto("artifacts")
    .values({
      run_id: runId,
      position: artifact.stepIndex,
      name: artifact.name,
      file: artifact.file,
      media_type: artifact.mediaType,
      bytes: artifact.bytes,
      created_at: Date.parse(artifact.at),
    })
    .onConflict((conflict) => conflict.columns(["run_id", "file"]).doNothing())
    .execute();
  await touchRun(tx, runId);
}

/** A run's artifacts, in the order of its steps. @param runId of the caller's org. */
export async function listArtifacts(db: Database, runId: string): Promise<Artifact[]> {
  const rows = await db
    .selectFrom("artifacts")
    .select(["name", "file", "position", "media_type", "bytes", "created_at"])
    .where("run_id", "=", runId)
    .orderBy("position")
    .orderBy("created_at")
    .orderBy("file")
    .execute();
  return rows.map((row) => ({
    name: row.name,
    file: row.file,
    stepIndex: row.position,
    mediaType: row.media_type,
    bytes: row.bytes,
    at: asTime(row.created_at),
  }));
}
