import { utcDay } from "../../contract/day.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { ServedRun } from "../../contract/run.ts";
import type { RunStatus } from "../../contract/runStatus.ts";
import type { Runs } from "../runs/runs.ts";
import type { MakeId } from "../store/ids.ts";
import { inputsColumn, isGivenAlike } from "../store/runInputs.ts";
import { asRun, removeRun, runColumns } from "../store/runs.ts";
import type { Database, Write } from "../store/tables.ts";
import type { AdmissionStore, QueuedRequest, StoredRequest } from "./queue.ts";
import { countSlots, type OrgSlots, quotaOf, refusalOf } from "./slots.ts";
import { type EnterOutcome, type EnterRequest, Waiter } from "./waiter.ts";

export interface DecisionDeps {
  readonly store: AdmissionStore;
  readonly makeId: MakeId;
  /** What the runs' `runner` says. */
  readonly runner: string;
  /** Identifies this start of the service as the holder of leases. */
  readonly holder: string;
  /** The open replies by ticket. */
  readonly waiters: Map<string, Waiter>;
  /** Gets each run before its row is committed, so that no row is ever without a holder. */
  readonly runs: Pick<Runs, "granted">;
}

/** A transaction of admission, behind the org's lock. Its deliveries are made once it is committed. */
export interface Decision extends DecisionDeps {
  readonly tx: Write;
  /** The database's time, in milliseconds since 1970. */
  readonly now: number;
  readonly deliveries: Delivery[];
}

/** What a waiter is answered: an outcome, or an error of the request itself. */
export type Delivery = { readonly waiter: Waiter } & (
  | { readonly outcome: EnterOutcome }
  | { readonly error: PipelineError }
);

/**
 * Grants the org's free slots to those who have waited longest. A waiter doesn't get one when its caller has left, its
 * service has died, or the day's runs are used up: then it is refused with scope `free-day`. What was decided on another
 * server's waiter is read there, see `followOtherServers`: a run that it was granted, or that it is in the queue no more and
 * has to ask again.
 */
export async function grantSlots(decision: Decision, org: OrgSlots): Promise<void> {
  const { tx, deliveries, waiters, now, holder, store } = decision;
  const isElsewhere = (queued: QueuedRequest) => queued.holder !== holder;
  let isRung = false;
  while (refusalOf(org, now)?.scope !== "org") {
    const queued = await store.takeOldest(tx, org.id, now);
    if (queued.length === 0) break;
    isRung ||= queued.some(isElsewhere);
    const [first, ...others] = queued.filter(
      (one) => isElsewhere(one) || waiters.get(one.ticket)?.state === "waiting",
    );
    if (first === undefined) continue;
    const refusal = first.hasRun ? undefined : refusalOf(org, now);
    const isGranted = refusal === undefined && !first.hasRun;
    if (isGranted) await grantRun(decision, org, first.request, waiters.get(first.ticket) ?? first);
    for (const { ticket } of isGranted ? others : [first, ...others]) {
      const waiter = waiters.get(ticket);
      if (waiter === undefined) continue;
      if (refusal === undefined) await answerRepeated(decision, waiter);
      else deliveries.push({ waiter, outcome: { kind: "refused", refusal, quota: quotaOf(org) } });
    }
  }
  if (isRung) await store.ring(tx, org.id);
}

/**
 * Inserts a run's row. The only place that does.
 * @param to the open reply, or the waiter of another server.
 */
export async function grantRun(
  { tx, deliveries, runs, now, store, ...deps }: Decision,
  org: OrgSlots,
  request: StoredRequest,
  to: Waiter | Pick<QueuedRequest, "ticket" | "holder">,
): Promise<void> {
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
    inputs: inputsColumn(request.inputs),
    outputs: null,
    agent: request.agent ?? null,
    asked_at: request.askedAt,
    idempotency_key: request.idempotencyKey ?? null,
    holder: to instanceof Waiter ? deps.holder : to.holder,
  };
  const ticket = to instanceof Waiter ? undefined : to.ticket;
  await store.insertRun(tx, { row, work: request.work, ticket }, now);
  org.active += 1;
  org.runsToday += 1;
  if (!(to instanceof Waiter)) return;
  const run = asRun(row);
  runs.granted?.add(run, to.request);
  deliveries.push({ waiter: to, outcome: { kind: "started", run, quota: quotaOf(org) } });
}

/** Answers with the run that the request's idempotency key has started. @returns whether there is one that stays. */
export async function answerRepeated(decision: Decision, waiter: Waiter): Promise<boolean> {
  const { tx, deliveries, runs, now, store } = decision;
  const { request } = waiter;
  try {
    const run = await findRepeated(tx, request);
    if (run === undefined) return false;
    if (runs.granted?.isWithdrawn(run.runId)) {
      // Its own removal is still to come, or the disk was full.
      await removeRun(tx, run.runId);
      return false;
    }
    await store.keep(tx, run.runId, now);
    const quota = quotaOf(await countSlots(tx, request.orgId, now));
    runs.granted?.join(run.runId);
    deliveries.push({ waiter, outcome: { kind: "repeated", run, quota } });
  } catch (error) {
    if (!(error instanceof PipelineError && error.type === "conflict")) throw error;
    deliveries.push({ waiter, error });
  }
  return true;
}

/** What tells whether a start request is a repeated one. `project` is undefined where the request names none. */
export type KeyedRequest = Pick<EnterRequest, "orgId" | "actor" | "idempotencyKey" | "pipeline" | "given"> & {
  readonly project: string | undefined;
};

/**
 * The run that the request's idempotency key has started.
 * @throws PipelineError `conflict` when the key was used for another pipeline, or with other inputs.
 */
export async function findRepeated(db: Database, request: KeyedRequest): Promise<ServedRun | undefined> {
  if (request.idempotencyKey === undefined) return undefined;
  const row = await repeatedRun(db, request.actor, request.idempotencyKey).executeTakeFirst();
  if (row === undefined) return undefined;
  const { pipeline, project, given } = request;
  const isOther = row.pipeline !== pipeline || (project !== undefined && row.project !== project);
  if (isOther || !isGivenAlike(row.inputs, given)) {
    const how = isOther ? "" : " with other inputs";
    throw new PipelineError(
      "conflict",
      `This Idempotency-Key has started a run of \`${row.pipeline}\`${how} already.`,
      { next: "Send a new key for a new request." },
    );
  }
  return asRun(row);
}

export function repeatedRun(db: Database, actor: string, idempotencyKey: string) {
  return db
    .selectFrom("runs")
    .select(runColumns)
    .where("actor", "=", actor)
    .where("idempotency_key", "=", idempotencyKey);
}
