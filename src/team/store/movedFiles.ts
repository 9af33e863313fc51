import { sql } from "kysely";
import { PipelineError } from "../../contract/errors.ts";
import { dayMilliseconds } from "../../contract/limits.ts";
import { repeat } from "../../machine/clock.ts";
import type { Log } from "../../machine/log.ts";
import type { StoreDeps } from "../../service/store/storeDeps.ts";
import type { Database } from "../../service/store/tables.ts";
import { type ObjectStore, ObjectStoreError } from "./objectStore.ts";
import { liveServers } from "./servers.ts";

export interface MoveDeps extends Omit<StoreDeps, "bus"> {
  readonly store: ObjectStore;
  /** This start of the server. */
  readonly instance: string;
  readonly retentionDays: number;
  readonly stopping: AbortSignal;
}

/** How often ended runs are looked for, in milliseconds. */
const moveMilliseconds = 5_000;
/** How many runs are moved at once: their logs, of up to 16 MiB each, are in memory. */
const atOnce = 8;
/** Files to be removed this soon, in milliseconds, aren't moved any more: no object is stored after its run's removal. */
const soonRemovedMilliseconds = 3_600_000;

export function logKey(runId: string): string {
  return `runs/${runId}/log`;
}

export function artifactKey(runId: string, file: string): string {
  return `runs/${runId}/artifacts/${file}`;
}

/**
 * Keeps moving the logs and artifacts of ended runs to the object store. Only the first of the living servers does it; if two
 * do, or one is killed, the same objects are stored under the same keys.
 * @returns a function that stops it; resolves when nothing is under way.
 */
export function keepMoving(deps: MoveDeps): () => Promise<void> {
  const { clock, log } = deps;
  let isFailing = false;
  const moving = repeat(clock, moveMilliseconds, async () => {
    try {
      const runs = await moveFiles(deps);
      if (runs > 0) log(isFailing ? "info" : "debug", "files of runs moved to the object store", { runs });
      isFailing = false;
    } catch (error) {
      if (!isFailing && !deps.stopping.aborted)
        log("error", "files of runs are not moved to the object store, trying again", { error });
      isFailing = true;
    }
  });
  return moving.stop;
}

/** Moves all files. @returns the number of runs. @throws the first error, once the other runs are moved; soon if none can be. */
export async function moveFiles(deps: MoveDeps): Promise<number> {
  const { db, instance, store, stopping } = deps;
  const servers = await liveServers(db);
  if (servers[0]?.id !== instance) return 0;
  // A server that names none, such as one of an earlier version, would show an empty log.
  if (servers.some((server) => server.object_store !== store.name))
    throw new Error("a server names another object store, or none");
  const failures: unknown[] = [];
  let count = 0;
  for (let after = ""; !stopping.aborted; ) {
    const found = await runsToMove(deps, after, atOnce);
    const moved = await Promise.allSettled(found.map(({ runId }) => moveRun(deps, runId)));
    const failed = moved.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
    failures.push(...failed);
    count += found.length - failed.length;
    if (found.length < atOnce) break;
    // A run that fails on its own, such as one too large for the store, must not hold up those after it.
    if (failed.length === found.length && !(await takesOthers(store, failed))) break;
    after = found.at(-1)?.runId ?? after;
  }
  if (failures.length > 0) throw failures[0];
  return count;
}

/** Whether the store takes other objects after it took none of a batch. */
async function takesOthers(store: ObjectStore, failures: readonly unknown[]): Promise<boolean> {
  if (!failures.every((failure) => failure instanceof ObjectStoreError)) return false;
  return store.probe().then(
    () => true,
    () => false,
  );
}

/**
 * Ended runs whose files are in the database, by their ids. The query goes from the rows of one run to those of the next by the
 * index, so its cost grows with the active runs before them, not with all chunks, nor with the history.
 */
async function runsToMove(
  { db, clock, retentionDays }: Pick<MoveDeps, "db" | "clock" | "retentionDays">,
  after: string,
  limit: number,
): Promise<readonly { readonly runId: string; readonly stoppedAt: number }[]> {
  const since = clock.now() - retentionDays * dayMilliseconds + soonRemovedMilliseconds;
  const behind = (id: unknown) => sql`least(
    (select min(run_id) from log_chunks where run_id > ${id}),
    (select min(run_id) from artifact_contents where run_id > ${id}))`;
  const { rows } = await sql<{ runId: string; stoppedAt: number }>`
    with recursive held (id) as (
      select ${behind(after)} union all
      select ${behind(sql.ref("held.id"))} from held where held.id is not null
    )
    select held.id as "runId", ended.stopped_at as "stoppedAt" from held
    cross join lateral (select stopped_at from runs where runs.id = held.id limit 1) as ended
    where ended.stopped_at > ${since} limit ${limit}`.execute(db);
  return rows;
}

/** How long ago the run ended whose files are the next to be moved, in seconds; 0 for none. */
export async function secondsUnmoved(deps: Parameters<typeof runsToMove>[0]): Promise<number> {
  const [oldest] = await runsToMove(deps, "", 1);
  return oldest === undefined ? 0 : Math.max(0, deps.clock.now() - oldest.stoppedAt) / 1000;
}

/** Puts a run's files into the store, and then replaces their rows by a note that they are there. */
async function moveRun({ db, writer, store, stopping }: MoveDeps, runId: string): Promise<void> {
  // In one statement: if another server moves them meanwhile, all of them are read, or none.
  const chunks = await db
    .selectFrom("log_chunks")
    .select("lines")
    .where("run_id", "=", runId)
    .orderBy("first")
    .execute();
  const text = Buffer.from(chunks.map(({ lines }) => `${lines}\n`).join(""));
  if (text.length > 0) await store.put(logKey(runId), text, stopping);
  // An artifact that the run doesn't list is shown to nobody, and is removed with its row.
  for (const { file } of await listedFiles(db, runId)) {
    const row = await db
      .selectFrom("artifact_contents")
      .select("content")
      .where("run_id", "=", runId)
      .where("file", "=", file)
      .executeTakeFirst();
    if (row !== undefined) await store.put(artifactKey(runId, file), row.content, stopping);
  }
  await writer.write(async (tx) => {
    const { numAffectedRows = 0n } = await sql`
      insert into moved_runs (run_id) select runs.id from runs, object_store
      where runs.id = ${runId} and files_removed_at is null and object_store.name = ${store.name}
      on conflict (run_id) do update set run_id = excluded.run_id`.execute(tx);
    if (numAffectedRows === 0n) throw new Error("the database's object store is another one by now");
    await tx.deleteFrom("log_chunks").where("run_id", "=", runId).execute();
    await tx.deleteFrom("artifact_contents").where("run_id", "=", runId).execute();
  });
}

export function listedFiles(db: Database, runId: string) {
  return db.selectFrom("artifacts").select("file").where("run_id", "=", runId).execute();
}

/**
 * Where a run's files are once they have been moved; undefined while they are in the database.
 * @throws ObjectStoreError where this server names no object store.
 */
export async function movedRun(
  db: Database,
  store: ObjectStore | undefined,
  runId: string,
): Promise<{ readonly store: ObjectStore; readonly hasLog: boolean } | undefined> {
  const row = await db
    .selectFrom("moved_runs")
    .innerJoin("runs", "runs.id", "run_id")
    .select("log_entries")
    .where("run_id", "=", runId)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  if (store !== undefined) return { store, hasLog: row.log_entries > 0 };
  throw new ObjectStoreError("this server was started without it");
}

/**
 * Tries the object store, and notes that the database uses it.
 * @throws PipelineError `conflict` when its files are in another one; `internal` when it can't be used. One that the database
 *   has used before may be out of reach.
 */
export async function settleObjectStore(
  db: Database,
  store: ObjectStore | undefined,
  log: Log,
): Promise<void> {
  const named = () => db.selectFrom("object_store").select("name").executeTakeFirst();
  if (store === undefined) {
    const isUsed = await db.selectFrom("moved_runs").select("run_id").limit(1).executeTakeFirst();
    if (isUsed !== undefined) throw anotherStore((await named())?.name, "none");
    return;
  }
  const isKnown = (await named())?.name === store.name;
  try {
    await store.probe();
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw error;
    if (!isKnown || error.isRefusal) throw unusableStore(store, error);
    log("error", "the object store is not usable, serving without what is in it", { error });
  }
  if (isKnown) return;
  await sql`
    insert into object_store (name) values (${store.name}) on conflict (is_only) do update set name = excluded.name
    where not exists (select from moved_runs)`.execute(db);
  const settled = await named();
  if (settled?.name !== store.name) throw anotherStore(settled?.name, store.name);
}

function anotherStore(settled: string | undefined, named: string): PipelineError {
  return new PipelineError(
    "conflict",
    `The logs and artifacts of this database's ended runs are in ${settled}; this server names ${named}.`,
    { next: "Give each server the same --object-store and AWS_ENDPOINT_URL_S3." },
  );
}

function unusableStore({ name }: ObjectStore, cause: ObjectStoreError): PipelineError {
  return new PipelineError(
    "internal",
    `The object store ${name} can't be used: ${cause.message.replace(/\.$/, "")}.`,
    {
      cause,
      next: "Check that the bucket exists, that the key may get, put and delete in it, and AWS_ENDPOINT_URL_S3, AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
    },
  );
}
