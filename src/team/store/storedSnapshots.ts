import { createHash, randomUUID } from "node:crypto";
import { sql } from "kysely";
import { PipelineError } from "../../contract/errors.ts";
import { utcDay } from "../../contract/limits.ts";
import type { Database, Write } from "../../service/store/tables.ts";
import type { Writer } from "../../service/store/writer.ts";

/** The bytes of a snapshot that a server has in memory at once. */
const pieceBytes = 1024 * 1024;
/** The beginning of the `digest` of a snapshot that is still being sent. */
const sending = "sending_";
/** How long sending one may take, in milliseconds. */
const sendingMilliseconds = 3_600_000;

/** How long a snapshot that no start has named is kept, in milliseconds. */
const unnamedMilliseconds = 600_000;
/** The most bytes that an org may send on a UTC day: more than starts need, and too few to fill a disk. */
export const mostBytesADay = 4 * 1024 ** 3;

/** The files of a project, as gzipped tar. */
export interface SnapshotName {
  readonly orgId: string;
  /** Their SHA-256, in hex. */
  readonly digest: string;
}

/** Keeps a snapshot from now on: a start that needs it is about to come. @returns its bytes; undefined where there is none. */
export async function keepSnapshot(
  db: Database,
  { orgId, digest }: SnapshotName,
  now: number,
): Promise<number | undefined> {
  const { rows } = await sql<{ bytes: number }>`
    update snapshots set used_at = ${now} where org_id = ${orgId} and digest = ${digest} returning (
      select coalesce(sum(octet_length(content)), 0) from snapshot_pieces where org_id = ${orgId} and digest = ${digest}
    ) as bytes`.execute(db);
  return rows[0]?.bytes;
}

/** Notes that a start names a snapshot, which is then kept as long as the start's logs. @returns whether it is there. */
export async function nameSnapshot(db: Database, { orgId, digest }: SnapshotName): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("snapshots")
    .set({ is_named: true })
    .where("org_id", "=", orgId)
    .where("digest", "=", digest)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/**
 * Counts what an org has sent.
 * @param left the bytes still to count, these included.
 * @throws PipelineError `payload-too-large` when the org would have sent more than it may on a day; then nothing is counted.
 */
async function countSent(
  db: Database,
  { orgId, bytes, left, now }: Record<"bytes" | "left" | "now", number> & Pick<SnapshotName, "orgId">,
): Promise<void> {
  const { rows } = await sql`
    insert into snapshot_days (org_id, day, bytes) values (${orgId}, ${utcDay(now)}, ${bytes})
    on conflict (org_id, day) do update set bytes = snapshot_days.bytes + excluded.bytes
      where snapshot_days.bytes + ${left}::bigint <= ${mostBytesADay} returning bytes`.execute(db);
  if (rows.length > 0) return;
  throw new PipelineError(
    "payload-too-large",
    `With these files the org would have sent more than ${mostBytesADay / 1024 ** 3} GiB of projects' files today.`,
    { next: "Start it after 00:00 UTC, or from files that were sent before." },
  );
}

/**
 * Stores a snapshot piece by piece as it comes, each counted and stored by statements of its own: a slow caller holds no
 * connection, and one that breaks off has used up no more of the org's day than it has sent.
 * @throws PipelineError `payload-too-large` when an org would send more than it may on a day, `invalid-request` when it has
 *   another digest, and what `content` throws; then none of it stays.
 */
export async function putSnapshot(
  { db, writer }: { readonly db: Database; readonly writer: Writer },
  { orgId, digest }: SnapshotName,
  content: { readonly length: number; readonly pieces: AsyncIterable<Uint8Array> },
  now: number,
): Promise<void> {
  const sent = { org_id: orgId, digest: `${sending}${randomUUID()}` };
  const hash = createHash("sha256");
  await db
    .insertInto("snapshots")
    .values({ ...sent, used_at: now, is_named: false })
    .execute();
  try {
    let position = 0;
    let left = content.length;
    for await (const piece of inPieces(content.pieces)) {
      await countSent(db, { orgId, bytes: piece.length, left, now });
      left -= piece.length;
      hash.update(piece);
      await db
        .insertInto("snapshot_pieces")
        .values({ ...sent, position, content: piece })
        .execute();
      position += 1;
    }
    const actual = hash.digest("hex");
    if (actual !== digest) {
      throw new PipelineError("invalid-request", `The body's SHA-256 is ${actual}, not ${digest}.`, {
        next: "Send it again, whole.",
      });
    }
    await writer.write((tx) => rename(tx, sent, digest, now));
  } finally {
    // If not now, `removeOldSnapshots` does it.
    await db
      .deleteFrom("snapshots")
      .where("org_id", "=", orgId)
      .where("digest", "=", sent.digest)
      .execute()
      .catch(() => {});
  }
}

/** Gives its name to a snapshot that was sent. If one of that name was sent meanwhile, that one stays. */
async function rename(
  tx: Write,
  sent: { readonly org_id: string; readonly digest: string },
  digest: string,
  now: number,
): Promise<void> {
  const { rows } = await sql<{ is_new: boolean }>`
    insert into snapshots (org_id, digest, used_at, is_named) values (${sent.org_id}, ${digest}, ${now}, false)
    on conflict (org_id, digest) do update set used_at = excluded.used_at returning xmax = 0 as is_new`.execute(
    tx,
  );
  if (rows[0]?.is_new !== true) return;
  await tx
    .updateTable("snapshot_pieces")
    .set({ digest })
    .where("org_id", "=", sent.org_id)
    .where("digest", "=", sent.digest)
    .execute();
}

/** The content of a snapshot. Ends early when the snapshot is removed meanwhile. */
export async function* readSnapshot(
  db: Database,
  { orgId, digest }: SnapshotName,
): AsyncGenerator<Uint8Array, void> {
  for (let position = 0; ; position++) {
    const piece = await db
      .selectFrom("snapshot_pieces")
      .select("content")
      .where("org_id", "=", orgId)
      .where("digest", "=", digest)
      .where("position", "=", position)
      .executeTakeFirst();
    if (piece === undefined) return;
    yield piece.content;
  }
}

/**
 * Removes the snapshots that were last used before a time, or that no start has named within minutes, and what is left of
 * those that were never sent whole.
 * @returns how many, `most` of them at most: each may be large.
 */
export async function removeOldSnapshots(
  tx: Write,
  before: number,
  now: number,
  most: number,
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from snapshots where (org_id, digest) in (
      select org_id, digest from snapshots where used_at < ${before}
        or starts_with(digest, ${sending}) and used_at < ${now - sendingMilliseconds}
        or not is_named and not starts_with(digest, ${sending}) and used_at < ${now - unnamedMilliseconds}
      limit ${most} for update skip locked
    )`.execute(tx);
  return Number(numAffectedRows);
}

async function* inPieces(content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void> {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of content) {
    parts.push(part);
    bytes += part.length;
    if (bytes < pieceBytes) continue;
    yield Buffer.concat(parts);
    parts = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(parts);
}
