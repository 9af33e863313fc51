import { sql } from "kysely";
import { PipelineError } from "../../contract/errors.ts";
import type { ServedRun } from "../../contract/run.ts";
import type { RunStatus } from "../../contract/runStatus.ts";
import { utcDay } from "../../contract/time.ts";
import type { ActiveRuns } from "../runs/activeRuns.ts";
import type { MakeId } from "../store/ids.ts";
import { asRun, removeRun } from "../store/runs.ts";
import type { Database, Write } from "../store/tables.ts";
import { requestOf, takeOldest, takeSameRequest } from "./queue.ts";
import { countSlots, type OrgSlots, quotaOf, refusalOf } from "./slots.ts";
import type { EnterOutcome, EnterRequest, Waiter } from "./waiter.ts";

export interface DecisionDeps {
  readonly now: () => number;
  readonly makeId: MakeId;
  /** What the runs' `runner` says. */
  readonly runner: string;
  /** Identifies this start of the service as the holder of leases. */
  readonly holder: string;
  readonly leaseMilliseconds: number;
  /** The open replies by ticket. */
  readonly waiters: Map<string, Waiter>;
  /** Gets each run before its row is committed, so that no row is ever without a holder. */
  readonly runs: Pick<ActiveRuns, "add" | "join" | "isWithdrawn">;
}

/** A transaction of admission. Its deliveries are made once it is committed. */
export interface Decision extends DecisionDeps {
  readonly tx: Write;
  readonly deliveries: Delivery[];
}

/** What a waiter is answered: an outcome, or an error of the request itself. */
export type Delivery = { readonly waiter: Waiter } & (
  | { readonly outcome: EnterOutcome }
  | { readonly error: PipelineError }
);

/**
 * Grants the org's free slots to those who have waited longest. A waiter doesn't get one when its caller has left, its
 * service has died, or the day's runs are used up: then it is refused with scope `free-day`.
 */
export async function grantSlots(decision: Decision, org: OrgSlots): Promise<void> {
  const { tx, deliveries, waiters, now } = decision;
  while (refusalOf(org, now())?.scope !== "org") {
    const row = await takeOldest(tx, org.id);
    if (row === undefined) return;
    const waiter = waiters.get(row.ticket);
    if (waiter?.state !== "waiting") continue;
    const refusal = refusalOf(org, now());
    if (refusal !== undefined) {
      deliveries.push({ waiter, outcome: { kind: "refused", refusal, quota: quotaOf(org) } });
      continue;
    }
    await grantRun(decision, org, requestOf(row), waiter);
    for (const { ticket } of await takeSameRequest(tx, row)) {
      const other = waiters.get(ticket);
      if (other?.state === "waiting") await answerRepeated(decision, other);
    }
  }
}

/** Inserts a run's row. The only place that does. */
export async function grantRun(
  { tx, deliveries, runs, ...deps }: Decision,
  org: OrgSlots,
  request: Omit<EnterRequest, "work">,
  waiter: Waiter,
): Promise<void> {
  const now = deps.now();
  const row = {
    id: deps.makeId("run"),
    org_id: org.id,
    project: request.project,
    pipeline: request.pipeline,
    actor: request.actor,
    runner: deps.runner,
    status: "running" satisfies RunStatus,
    day: utcDay(now),
    created_at: now,
    stopped_at: null,
    time_limit_seconds: request.timeLimitSeconds,
    reason: null,
    idempotency_key: request.idempotencyKey ?? null,
    holder: deps.holder,
    lease_until: now + deps.leaseMilliseconds,
    runner_pid: null,
    runner_birth: null,
  };
  const columns = Object.keys(row).map((name) => sql.raw(name));
  await sql`insert into runs (${sql.join(columns)}) values (${sql.join(Object.values(row))})`.execute(tx);
  org.active += 1;
  org.runsToday += 1;
  const run = asRun(row);
  runs.add(run, waiter.request);
  deliveries.push({ waiter, outcome: { kind: "started", run, quota: quotaOf(org) } });
}

/** Answers with the run that the request's idempotency key has started. @returns whether there is one that stays. */
export async function answerRepeated(decision: Decision, waiter: Waiter): Promise<boolean> {
  const { tx, deliveries, runs, now } = decision;
  const { request } = waiter;
  try {
    const run = await findRepeated(tx, request);
    if (run === undefined) return false;
    if (runs.isWithdrawn(run.runId)) {
      // Its own removal is still to come, or the disk was full.
      await removeRun(tx, run.runId);
      return false;
    }
    const quota = quotaOf(await countSlots(tx, request.orgId, now()));
    runs.join(run.runId);
    deliveries.push({ waiter, outcome: { kind: "repeated", run, quota } });
  } catch (error) {
    if (!(error instanceof PipelineError && error.type === "conflict")) throw error;
    deliveries.push({ waiter, error });
  }
  return true;
}

/** What tells whether a start request is a repeated one. `project` is undefined where the request names none. */
export type KeyedRequest = Pick<EnterRequest, "orgId" | "actor" | "idempotencyKey" | "pipeline"> & {
  readonly project: string | undefined;
};

/**
 * The run that the request's idempotency key has started.
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
      { next: "Send a new key for a new request." },
    );
  }
  return asRun(row);
}

export function repeatedRun(db: Database, actor: string, idempotencyKey: string) {
  return db
    .selectFrom("runs")
    .selectAll()
    .where("actor", "=", actor)
    .where("idempotency_key", "=", idempotencyKey);
}
