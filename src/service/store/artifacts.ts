import type { Artifact } from "../../contract/run.ts";
import { touchRun } from "./runChanges.ts";
import type { Database, Write } from "./tables.ts";

/** Keeps an artifact whose file is in the run's folder already. */
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
    .execute();
  await touchRun(tx, runId);
}

/** What the run's steps kept, in the order of the steps. @param runId one of the caller's org. */
export async function listArtifacts(db: Database, runId: string): Promise<Artifact[]> {
  const rows = await db
    .selectFrom("artifacts")
    .selectAll()
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
    at: new Date(row.created_at).toISOString(),
  }));
}
