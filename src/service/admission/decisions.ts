import { sql } from "kysely";
import { PipelineError } from "../../contract/errors.ts";
import type { Org } from "../../contract/org.ts";
import type { Refusal } from "../../contract/refusal.ts";
import type { ServedRun } from "../../contract/run.ts";
import type { RunStatus } from "../../contract/runStatus.ts";
import { secondsToReset, utcDay } from "../../contract/time.ts";
import type { ActiveRuns } from "../runs/activeRuns.ts";
import type { MakeId } from "../store/ids.ts";
import { asRun, removeRun } from "../store/runs.ts";
import type { Database, Tables, Write } from "../store/tables.ts";
import { oldestWaiter, removeWaiter, sameRequest, type WaiterRow } from "./queue.ts";
import type { EnterOutcome, EnterRequest, Waiter } from "./waiter.ts";

export interface DecisionDeps {
  readonly now: () => number;
  readonly makeId: MakeId;
  /** What the runs' `runner` says. */
  readonly runner: string;
  /** This start of the service, and how long its word that it holds a run is good for, in milliseconds. */
  readonly holder: string;
  readonly leaseMilliseconds: number;
  /** The open replies of those who wait. A ticket without one is nobody's. */
  readonly replies: Map<string, Waiter>;
  /** Holds each run from before its row is committed, so that no row is ever nobody's. */
  readonly runs: Pick<ActiveRuns, "hold" | "join" | "isWithdrawn">;
}

/** A transaction of admission. What it answers is told once it is committed. */
export interface Decision extends DecisionDeps {
  readonly tx: Write;
  readonly answers: Answer[];
}

/** An outcome, or the error that a request comes to by itself. */
export type Answer = { readonly reply: Waiter } & (
  | { readonly outcome: EnterOutcome }
  | { readonly error: PipelineError }
);

/**
 * How many requests wait at most, in all orgs. One that comes then is answered like one that doesn't wait: each holds a
 * connection, and whoever wants to look or to cancel needs one as well (see the server's limits).
 */
const longestQueue = 1_000;

/**
 * Decides on a start: a run, a refusal, or a ticket. A used-up day is told before a taken slot, since waiting can't help
 * it (contract: "Limits").
 */
export async function enter(decision: Decision, reply: Waiter): Promise<void> {
  const { tx, answers, replies } = decision;
  const { request } = reply;
  if (await repeat(decision, reply)) return;
  const org = await countSlots(decision, request.orgId);
  await grantSlots(decision, org);
  const refusal = refusalOf(org, decision.now());
  if (refusal === undefined) await start(decision, org, rowOf(request), reply);
  else if (refusal.scope === "org" && reply.mayWait && replies.size < longestQueue) {
    const ticket = decision.makeId("ticket");
    await tx
      .insertInto("waiters")
      .values({ ...rowOf(request), ticket, holder: decision.holder })
      .execute();
    reply.ticket = ticket;
    replies.set(ticket, reply);
  } else answers.push({ reply, outcome: { kind: "refused", refusal, day: dayOf(org) } });
}

/** Decides on one that has waited for as long as it may: refused, unless it is its turn at last, or was a moment ago. */
export async function expire(decision: Decision, reply: Waiter, ticket: string): Promise<void> {
  const org = await countSlots(decision, reply.request.orgId);
  await grantSlots(decision, org);
  await removeWaiter(decision.tx, ticket);
  decision.answers.push({ reply, outcome: { kind: "refused", refusal: { scope: "org" }, day: dayOf(org) } });
}

/** Gives what slots are free to those who have waited for longest. Once the day is used up, all who wait are refused. */
export async function grantSlots(decision: Decision, org: OrgSlots): Promise<void> {
  const { tx, answers, replies, now } = decision;
  while (refusalOf(org, now())?.scope !== "org") {
    const waiter = await oldestWaiter(tx, org.id);
    if (waiter === undefined) return;
    await removeWaiter(tx, waiter.ticket);
    const reply = replies.get(waiter.ticket);
    // Its caller has left, or the service that held its reply has died.
    if (!reply?.isOpen) continue;
    const refusal = refusalOf(org, now());
    if (refusal !== undefined) {
      answers.push({ reply, outcome: { kind: "refused", refusal, day: dayOf(org) } });
      continue;
    }
    await start(decision, org, waiter, reply);
    for (const { ticket } of await sameRequest(tx, waiter)) {
      await removeWaiter(tx, ticket);
      const other = replies.get(ticket);
      if (other?.isOpen) await repeat(decision, other);
    }
  }
}

/** An org's limits, and what its rows come to: kept nowhere else. Counted on while a transaction makes more of them. */
export interface OrgSlots {
  readonly id: string;
  readonly parallelRuns: number;
  readonly runsPerDay: number;
  active: number;
  runsToday: number;
}

/** Reads them anew: to be called behind whatever the transaction changes before. */
export async function countSlots({ tx, now }: Decision, orgId: string): Promise<OrgSlots> {
  const { rows } = await slotsOf(orgId, utcDay(now())).execute(tx);
  const [row] = rows;
  if (row === undefined) throw new Error(`there is no org ${orgId}`);
  return {
    id: orgId,
    parallelRuns: row.parallel_runs,
    runsPerDay: row.runs_per_day,
    active: Number(row.active),
    runsToday: Number(row.runs_today),
  };
}

/** An org's limits, how many of its runs count in a day, and how many are active. */
export function slotsOf(orgId: string, day: string) {
  return sql<
    Pick<Tables["orgs"], "parallel_runs" | "runs_per_day"> & Record<"runs_today" | "active", number>
  >`
    select parallel_runs, runs_per_day,
      (select count(*) from runs where org_id = orgs.id and day = ${day}) as runs_today,
      (select count(*) from runs where org_id = orgs.id and stopped_at is null) as active
    from orgs where id = ${orgId}`;
}

/** Why an org in this state may start no run now; undefined when it may. */
function refusalOf(
  { active, parallelRuns, runsToday, runsPerDay }: OrgSlots,
  now: number,
): Refusal | undefined {
  if (runsToday >= runsPerDay) return { scope: "free-day", secondsToReset: secondsToReset(now) };
  return active >= parallelRuns ? { scope: "org" } : undefined;
}

export function dayOf({ parallelRuns, runsPerDay, runsToday }: OrgSlots): Pick<Org, "limits" | "usage"> {
  return { limits: { parallelRuns, runsPerDay }, usage: { runsToday } };
}

/** Answers with the run that the request's key has started already. @returns whether there is one that stays. */
async function repeat(decision: Decision, reply: Waiter): Promise<boolean> {
  const { tx, answers, runs } = decision;
  const { request } = reply;
  try {
    const run = await findRepeated(tx, request);
    if (run === undefined) return false;
    if (runs.isWithdrawn(run.runId)) {
      // Its own removal is yet to come, or had no room on the disk.
      await removeRun(tx, run.runId);
      return false;
    }
    const day = dayOf(await countSlots(decision, request.orgId));
    runs.join(run.runId);
    answers.push({ reply, outcome: { kind: "repeated", run, day } });
  } catch (error) {
    if (!(error instanceof PipelineError && error.type === "conflict")) throw error;
    answers.push({ reply, error });
  }
  return true;
}

/** Makes a run's row. The only place that does. */
async function start(
  decision: Decision,
  org: OrgSlots,
  asked: Omit<WaiterRow, "ticket" | "holder">,
  reply: Waiter,
): Promise<void> {
  const { tx, answers, runs, ...deps } = decision;
  const now = deps.now();
  const row = {
    id: deps.makeId("run"),
    org_id: org.id,
    project: asked.project,
    pipeline: asked.pipeline,
    actor: asked.actor,
    runner: deps.runner,
    status: "running" satisfies RunStatus,
    day: utcDay(now),
    created_at: now,
    stopped_at: null,
    time_limit_seconds: asked.time_limit_seconds,
    reason: null,
    idempotency_key: asked.idempotency_key,
    holder: deps.holder,
    lease_until: now + deps.leaseMilliseconds,
    runner_pid: null,
    runner_birth: null,
  };
  await tx.insertInto("runs").values(row).execute();
  org.active += 1;
  org.runsToday += 1;
  const run = asRun(row);
  runs.hold(run, reply.request);
  answers.push({ reply, outcome: { kind: "started", run, day: dayOf(org) } });
}

function rowOf(request: EnterRequest): Omit<WaiterRow, "ticket" | "holder"> {
  return {
    org_id: request.orgId,
    actor: request.actor,
    project: request.project,
    pipeline: request.pipeline,
    time_limit_seconds: request.timeLimitSeconds,
    idempotency_key: request.idempotencyKey ?? null,
  };
}

/** What tells whether a start was granted before. Its project is undefined where the request names none. */
export type KeyedRequest = Pick<EnterRequest, "orgId" | "actor" | "idempotencyKey" | "pipeline"> & {
  readonly project: string | undefined;
};

/**
 * The run that this request's key has started already.
 * @throws PipelineError `conflict` when the key was used for another pipeline.
 */
export async function findRepeated(db: Database, request: KeyedRequest): Promise<ServedRun | undefined> {
  if (request.idempotencyKey === undefined) return undefined;
  const row = await repeatedRun(db, request.actor, request.idempotencyKey).executeTakeFirst();
  if (row === undefined) return undefined;
  const { pipeline, project } = request;
  if (row.pipeline !== pipeline || (project !== undefined && row.project !== project)) {
    throw new PipelineError(
      "conflict",
      `This Idempotency-Key has started a run of \`${row.pipeline}\` already.`,
      { next: "Send a new key for a new wish." },
    );
  }
  return asRun(row);
}

/** The run that a key of an actor has started. */
export function repeatedRun(db: Database, actor: string, idempotencyKey: string) {
  return db
    .selectFrom("runs")
    .selectAll()
    .where("actor", "=", actor)
    .where("idempotency_key", "=", idempotencyKey);
}
