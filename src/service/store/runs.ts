import { type Selectable, sql } from "kysely";
import { cancelledBy, type RunStep, type ServedRun } from "../../contract/run.ts";
import type { RunStatus } from "../../contract/runStatus.ts";
import type { ServiceState } from "../../contract/service.ts";
import { countDayUse, type DayUse } from "../../text/dayUse.ts";
import { asTime, type Caller, keyName } from "./keys.ts";
import { touchRun } from "./runChanges.ts";
import { listArtifacts } from "./runFiles.ts";
import { hasInput, runInputs } from "./runInputs.ts";
import type { Database, Tables, Write } from "./tables.ts";

/** The columns of a run as the contract shows it. */
export const runColumns = [
  ...(["id", "pipeline", "project", "status", "actor", "runner", "reason", "agent"] as const),
  ...(["inputs", "outputs", "git_commit"] as const),
  ...(["asked_at", "created_at", "stopped_at", "time_limit_seconds"] as const),
] as const;
export type RunRow = Pick<Selectable<Tables["runs"]>, (typeof runColumns)[number]>;

/** A row with the names of its keys; null for a key without a name. */
type NamedRunRow = RunRow & { readonly [name in "actor_name" | "canceller_name"]?: string | null };

/** The columns of runs with the names of their keys. */
export function selectRuns(db: Database) {
  const id = sql`substr(runs.reason, ${sql.lit(cancelledBy.length + 1)})`;
  const canceller = sql`case when runs.reason like ${sql.lit(`${cancelledBy}%`)} then ${id} end`;
  return db
    .selectFrom("runs")
    .select(runColumns)
    .select([keyName(sql`runs.actor`).as("actor_name"), keyName(canceller).as("canceller_name")]);
}

/** Which of an org's runs; without one, all of them. */
export interface RunFilter {
  /** A status, or `in-work` for every active run. */
  readonly status?: string | undefined;
  readonly actor?: string | undefined;
  readonly project?: string | undefined;
  readonly pipeline?: string | undefined;
  /** Values of inputs, each as `name=value`. */
  readonly input?: readonly string[] | undefined;
  /** Created at this time or later, and before that one, in milliseconds since 1970. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

interface RunQuery extends RunFilter {
  /** The run before the first of the page. */
  readonly after?: string | undefined;
  /** The run after the last of the page. */
  readonly before?: string | undefined;
  readonly limit: number;
}

export interface RunPage {
  /** Newest first. */
  readonly runs: readonly ServedRun[];
  /** The `before` of the page of newer runs; undefined on the first one. */
  readonly newer: string | undefined;
  /** The `after` of the page of older runs; undefined on the last one. */
  readonly older: string | undefined;
}

/** A page of the org's runs: the newest ones, or those beside a run. If no more than `limit` runs are newer, the first page. */
export async function listRuns(db: Database, orgId: string, query: RunQuery): Promise<RunPage> {
  const { after, before, limit } = query;
  const matching = matchingRuns(db, orgId, query).limit(limit + 1);
  if (before !== undefined) {
    const found = await matching.where("id", ">", before).orderBy("id", "asc").execute();
    if (found.length <= limit) return listRuns(db, orgId, { ...query, before: undefined });
    const runs = found.slice(0, limit).map(asRun).reverse();
    return { runs, newer: runs.at(0)?.runId, older: runs.at(-1)?.runId };
  }
  const rows = after === undefined ? matching : matching.where("id", "<", after);
  const found = await rows.orderBy("id", "desc").execute();
  const runs = found.slice(0, limit).map(asRun);
  return {
    runs,
    newer: after === undefined ? undefined : (runs.at(0)?.runId ?? after),
    older: found.length > limit ? runs.at(-1)?.runId : undefined,
  };
}

/** The runs of these ids, of whatever org, the oldest first; those that aren't committed yet are left out. */
export function readActive(db: Database, ids: ReadonlySet<string>): Promise<ServiceState["runs"]> {
  return db
    .selectFrom("runs")
    .select(["id as runId", "pipeline", "project", "status"])
    .where("id", "in", [...ids])
    .orderBy("id")
    .execute();
}

/** More names than a person looks through. */
const mostNames = 200;

/** The names of the pipelines that the org's runs are of, sorted. Reads one entry of the index for each, not each run. */
export async function pipelineNames(db: Database, orgId: string): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    with recursive names (name) as (
      select min(pipeline) from runs where org_id = ${orgId}
      union all
      select (select min(pipeline) from runs where org_id = ${orgId} and pipeline > names.name)
      from names where names.name is not null
    )
    select name from names where name is not null limit ${mostNames}`.execute(db);
  return rows.map(({ name }) => name);
}

function matchingRuns(db: Database, orgId: string, filter: RunFilter) {
  let rows = selectRuns(db).where("org_id", "=", orgId);
  // Active runs are few: `|| ''` keeps the database from using another index, by which it would read the whole history of a
  // key, a project or a pipeline.
  const isActive = filter.status === "in-work";
  if (isActive) rows = rows.where("stopped_at", "is", null);
  else if (filter.status !== undefined) rows = rows.where("status", "=", filter.status);
  for (const column of ["actor", "project", "pipeline"] as const) {
    const wanted = filter[column];
    if (wanted === undefined) continue;
    rows = isActive
      ? rows.where(sql<string>`${sql.ref(column)} || ''`, "=", wanted)
      : rows.where(column, "=", wanted);
  }
  if (filter.since !== undefined) rows = rows.where("created_at", ">=", filter.since);
  if (filter.until !== undefined) rows = rows.where("created_at", "<", filter.until);
  for (const wanted of filter.input ?? []) rows = rows.where(hasInput(wanted));
  return rows;
}

export async function readDayUse(db: Database, orgId: string, day: string): Promise<DayUse> {
  const runs = await db
    .selectFrom("runs")
    .select(["pipeline", "actor", keyName(sql`runs.actor`).as("actor_name")])
    .where("org_id", "=", orgId)
    .where("day", "=", day)
    .execute();
  return countDayUse(runs.map(({ actor_name: name, ...run }) => ({ ...run, actorName: name ?? undefined })));
}

/** A run of the caller's org with its steps; undefined also for another org's run. */
export async function readRun(
  db: Database,
  caller: Pick<Caller, "orgId">,
  runId: string,
): Promise<ServedRun | undefined> {
  const run = await readRunAlone(db, caller, runId);
  if (run === undefined) return undefined;
  const artifacts = await listArtifacts(db, runId);
  return {
    ...run,
    steps: await readSteps(db, runId),
    ...(artifacts.length === 0 ? {} : { artifacts }),
  };
}

/** A run as `readRun` reads it, but without its steps and artifacts, of which there may be thousands. */
export async function readRunAlone(
  db: Database,
  caller: Pick<Caller, "orgId">,
  runId: string,
): Promise<ServedRun | undefined> {
  const row = await selectRuns(db)
    .where("id", "=", runId)
    .where("org_id", "=", caller.orgId)
    .executeTakeFirst();
  return row && asRun(row);
}

/** Marks a run that is being cancelled. It keeps its slot. */
export async function markCancelling(tx: Write, runId: string): Promise<void> {
  await tx
    .updateTable("runs")
    .set({ status: "cancelling" satisfies RunStatus })
    .where("id", "=", runId)
    .where("stopped_at", "is", null)
    .execute();
  await touchRun(tx, runId);
}

export interface RunEnd {
  readonly status: RunStatus;
  readonly reason: string | undefined;
}

/**
 * Writes the end of a run, which releases its slot. Its running steps end with it. Plain SQL here and wherever a slot is
 * granted: building these queries took longer than running them, and somebody waits for their commit.
 * @returns whether the run was active: an ended run keeps its end, and a withdrawn one is gone.
 */
export async function stopRun(tx: Write, runId: string, end: RunEnd, now: number): Promise<boolean> {
  const { status, reason = null } = end;
  // A clock that was set back must not end a run before it began.
  const { rows } = await sql<{ stopped_at: number }>`
    update runs set status = ${status}, reason = ${reason},
      stopped_at = case when created_at > ${now} then created_at else ${now} end
    where id = ${runId} and stopped_at is null
    returning stopped_at`.execute(tx);
  const [row] = rows;
  if (row === undefined) return false;
  await sql`
    update steps set status = ${status}, stopped_at = ${row.stopped_at}
    where run_id = ${runId} and status = 'running'`.execute(tx);
  await touchRun(tx, runId);
  return true;
}

const stepColumns = [
  ...(["name", "type", "status", "started_at", "stopped_at", "message", "attempts", "cleanup"] as const),
];

/** The most rows of one statement: databases limit the number of parameters. */
const mostRows = 1_000;

/** Writes steps as they are now, by their positions. */
export async function putSteps(tx: Write, runId: string, steps: ReadonlyMap<number, RunStep>): Promise<void> {
  if (steps.size === 0) return;
  const rows = [...steps].map(([position, step]) => ({
    run_id: runId,
    position,
    name: step.name,
    type: step.type,
    status: step.status,
    started_at: step.startedAt === undefined ? null : Date.parse(step.startedAt),
    stopped_at: step.stoppedAt === undefined ? null : Date.parse(step.stoppedAt),
    message: step.message ?? null,
    attempts: step.attempts ?? null,
    cleanup: step.cleanup ? 1 : null,
  }));
  for (let first = 0; first < rows.length; first += mostRows) {
    await tx
      .insertInto("steps")
      .values(rows.slice(first, first + mostRows))
      .onConflict((conflict) =>
        conflict
          .columns(["run_id", "position"])
          .doUpdateSet(({ ref }) =>
            Object.fromEntries(stepColumns.map((name) => [name, ref(`excluded.${name}`)])),
          ),
      )
      .execute();
  }
  await touchRun(tx, runId);
}

/** Removes a withdrawn run: its caller left before the reply, and it has no processes. */
export async function removeRun(tx: Write, runId: string): Promise<void> {
  await tx.deleteFrom("runs").where("id", "=", runId).execute();
}

/** The run as the contract shows it, without its steps. */
export function asRun(row: NamedRunRow): ServedRun {
  const { actor_name: actorName, canceller_name: cancellerName } = row;
  return {
    runId: row.id,
    pipeline: row.pipeline,
    project: row.project,
    status: row.status,
    actor: row.actor,
    ...(actorName ? { actorName } : {}),
    runner: row.runner,
    ...(row.asked_at === null ? {} : { askedAt: asTime(row.asked_at) }),
    createdAt: asTime(row.created_at),
    ...(row.stopped_at === null ? {} : { stoppedAt: asTime(row.stopped_at) }),
    timeLimitSeconds: row.time_limit_seconds,
    ...(row.reason === null ? {} : { reason: row.reason }),
    ...(cancellerName ? { cancellerName } : {}),
    ...(row.agent === null ? {} : { agent: row.agent }),
    ...(row.git_commit === null ? {} : { commit: JSON.parse(row.git_commit) }),
    ...runInputs(row.inputs),
    ...(row.outputs === null ? {} : { outputs: JSON.parse(row.outputs) }),
  };
}

async function readSteps(db: Database, runId: string): Promise<RunStep[]> {
  const rows = await db
    .selectFrom("steps")
    .select(stepColumns)
    .where("run_id", "=", runId)
    .orderBy("position")
    .execute();
  return rows.map((row) => ({
    name: row.name,
    type: row.type,
    status: row.status,
    ...(row.started_at === null ? {} : { startedAt: asTime(row.started_at) }),
    ...(row.stopped_at === null ? {} : { stoppedAt: asTime(row.stopped_at) }),
    ...(row.message === null ? {} : { message: row.message }),
    ...(row.attempts === null ? {} : { attempts: row.attempts }),
    ...(row.cleanup === null ? {} : { cleanup: true }),
  }));
}
