import { type Selectable, sql } from "kysely";
import * as z from "zod/mini";
import { runWorkSchema } from "../../contract/run.ts";
import { leaseSeconds, type Work } from "../../contract/runners.ts";
import { runRow, touchRun } from "../../service/store/runChanges.ts";
import { removeRun, stopRun } from "../../service/store/runs.ts";
import type { Database, Tables, Write } from "../../service/store/tables.ts";
import { databaseNow, restartedAt } from "./databaseClock.ts";
import { isJustStarted } from "./servers.ts";
import { storePipeline } from "./storedPipelines.ts";
import type { SnapshotName } from "./storedSnapshots.ts";

/** How long a runner holds a run after its last heartbeat (contract: "Many machines"). */
const leaseMilliseconds = leaseSeconds * 1000;
/** How long a server has from a grant until its caller has the reply, in milliseconds. */
export const replyMilliseconds = 15_000;
/** How long a launched run waits for a runner, in milliseconds. */
const untakenMilliseconds = 10 * 60_000;

/**
 * Offers a granted run to the runners, and stores its pipeline, once its caller has the reply.
 * @returns its org; undefined when it is gone.
 */
export async function launchRun(tx: Write, runId: string): Promise<string | undefined> {
  // First: it locks the org's row, which is locked before a run's everywhere.
  await touchRun(tx, runId);
  const { rows } = await sql<RunColumns<"org_id" | "project" | "pipeline" | "work" | "git_commit">>`
    update runs set launched_at = coalesce(launched_at, ${databaseNow}),
      holder = case when launched_at is null then null else holder end,
      lease_until = case when launched_at is null then null else lease_until end
    where id = ${runId} and stopped_at is null returning org_id, project, pipeline, work, git_commit`.execute(
    tx,
  );
  const [row] = rows;
  if (row === undefined) return undefined;
  const { pipeline: name, work, ...of } = row;
  await storePipeline(tx, { name, ...of }, workSchema.parse(work));
  return row.org_id;
}

/** Removes a granted run that no caller knows of. */
export async function withdrawRun(tx: Write, runId: string): Promise<void> {
  await tx
    .deleteFrom("runs")
    .where("id", "=", runId)
    .where("launched_at", "is", null)
    .where("stopped_at", "is", null)
    .execute();
}

type RunColumns<Name extends keyof Tables["runs"]> = Pick<Selectable<Tables["runs"]>, Name>;

export type TakenRun = Work & { readonly orgId: string };

const workSchema = z.pipe(
  z.string(),
  z.transform((text) => runWorkSchema.parse(JSON.parse(text))),
);

/**
 * Takes the run that has waited longest for a runner.
 * @param runner `orgId`: the org whose runs it takes; undefined for every org. `known`: the runs that it has, also one that
 *   it is giving back; none of them is given to it. If it holds another one, the reply was lost, and that run is given again.
 */
export async function takeRun(
  tx: Write,
  runner: {
    readonly holder: string;
    /** The name that people see. */
    readonly name: string;
    readonly orgId: string | undefined;
    readonly known: readonly string[];
  },
): Promise<TakenRun | undefined> {
  const { holder, name, orgId, known } = runner;
  const { rows } = await sql<
    RunColumns<"id" | "org_id" | "work" | "agent" | "project" | "created_at" | "time_limit_seconds">
  >`
    update runs set holder = ${holder}, runner = ${name}, lease_until = ${databaseNow} + ${leaseMilliseconds}
    where id = (
      select id from runs
      where stopped_at is null and launched_at is not null and id <> all (${[...known]}::text[]) and (
        holder is null and (${orgId ?? null}::text is null or org_id = ${orgId ?? null})
        or holder = ${holder} and messages = 0
      )
      order by launched_at limit 1 for update skip locked
    ) returning id, org_id, work, time_limit_seconds, agent, project, created_at`.execute(tx);
  const [row] = rows;
  if (row === undefined) return undefined;
  return {
    orgId: row.org_id,
    runId: row.id,
    work: workSchema.parse(row.work),
    timeLimitSeconds: row.time_limit_seconds,
    agent: row.agent ?? undefined,
    project: row.project,
    startedAt: new Date(row.created_at).toISOString(),
    leaseSeconds,
  };
}

/** Renews the leases of a runner's runs. @returns those that are still its own, with their `StopReason` as JSON. */
export async function renewRunnerLeases(
  db: Database,
  holder: string,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  if (runIds.length === 0) return new Map();
  const { rows } = await sql<{ id: string; stop_reason: string | null }>`
    update runs set lease_until = ${databaseNow} + ${leaseMilliseconds}
    where holder = ${holder} and stopped_at is null and launched_at is not null
      and id = any(${[...runIds]}::text[])
    returning id, stop_reason`.execute(db);
  return new Map(rows.map((row) => [row.id, row.stop_reason]));
}

/**
 * After the database's clock was set back, earlier leases count from now: otherwise a dead server or runner would seem alive
 * until the clock has caught up.
 */
export async function shortenLeases(db: Database): Promise<void> {
  const longest = sql`${databaseNow} + case when launched_at is null then ${replyMilliseconds}::bigint else ${leaseMilliseconds}::bigint end`;
  await sql`update runs set lease_until = ${longest} where stopped_at is null and lease_until > ${longest}`.execute(
    db,
  );
}

/**
 * Whether an active run is overdue: its server died before the caller had the reply, its runner is silent, or no runner
 * takes it. Just after a restart of the database nothing is overdue, since nobody could renew a lease before.
 */
const isOverdue = sql`(case
  when launched_at is null then lease_until < ${databaseNow} and not ${isJustStarted}
  else ${restartedAt} < ${databaseNow} - ${leaseMilliseconds} and (
    lease_until < ${databaseNow} or (holder is null and launched_at < ${databaseNow} - ${untakenMilliseconds})
  )
end)`;

export async function overdueRuns(
  db: Database,
): Promise<readonly { readonly runId: string; readonly orgId: string }[]> {
  const { rows } = await sql<{ id: string; org_id: string }>`
    select id, org_id from runs where stopped_at is null and ${isOverdue}`.execute(db);
  return rows.map((row) => ({ runId: row.id, orgId: row.org_id }));
}

/**
 * Ends an overdue run, under the org's lock and the run's, since a claim and a heartbeat lock only the run. A run that no
 * server has claimed is removed without a trace. Any other stays as `lost`, since its caller may know of it.
 * @returns whether it was still overdue.
 */
export async function endOverdue(tx: Write, runId: string, now: number): Promise<boolean> {
  const { rows } = await sql<RunColumns<"ticket" | "holder" | "launched_at">>`
    select ticket, holder, launched_at from runs
    where id = ${runId} and stopped_at is null and ${isOverdue} for update`.execute(tx);
  const [row] = rows;
  if (row === undefined) return false;
  if (row.launched_at === null && row.ticket !== null) await removeRun(tx, runId);
  else await stopRun(tx, runId, { status: "lost", reason: whyOverdue(row) }, now);
  return true;
}

function whyOverdue({ holder, launched_at }: RunColumns<"holder" | "launched_at">): string {
  if (launched_at === null) return "its server died before it began";
  return holder === null ? "no runner took it" : "its runner is gone";
}

/** How far a run's row is with its runner's messages. */
export interface HeldRun {
  /** The number of the last message that was taken in. */
  readonly messages: number;
  readonly logEntries: number;
  /** A `StopReason` as JSON. */
  readonly stopReason: string | null;
  readonly isOver: boolean;
}

/** Locks the run until the transaction's end. @returns undefined when another holds it, or nobody. */
export async function lockHeldRun(tx: Write, runId: string, holder: string): Promise<HeldRun | undefined> {
  const row = await heldRun(tx, runId, holder)
    .select(["messages", "log_entries", "stop_reason", "stopped_at"])
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { messages, log_entries: logEntries, stop_reason: stopReason } = row;
  return { messages, logEntries, stopReason, isOver: row.stopped_at !== null };
}

/** Whether a run is this runner's. It can't be removed until the transaction's end, but its lease can be renewed. */
export async function isHeldRun(tx: Write, runId: string, holder: string): Promise<boolean> {
  const row = await heldRun(tx, runId, holder)
    .where("stopped_at", "is", null)
    .select("id")
    .forKeyShare()
    .executeTakeFirst();
  return row !== undefined;
}

function heldRun(tx: Write, runId: string, holder: string) {
  return runRow(tx, runId).where("holder", "=", holder).where("launched_at", "is not", null);
}

/** The files of a run's project as it was at its start; undefined where it has none. */
export async function snapshotOf(tx: Write, runId: string): Promise<SnapshotName | undefined> {
  const row = await runRow(tx, runId).select(["org_id", "work"]).executeTakeFirst();
  const digest = row && workSchema.parse(row.work).snapshot;
  return row === undefined || digest === undefined ? undefined : { orgId: row.org_id, digest };
}
