import { PipelineError } from "../../contract/errors.ts";
import { utcDay } from "../../contract/limits.ts";
import type { ServedRun } from "../../contract/run.ts";
import { inputsColumn, isGivenAlike } from "../store/runInputs.ts";
import { asRun, selectRuns } from "../store/runs.ts";
import type { Database } from "../store/tables.ts";
import type { Decision, EnterOutcome, EnterRequest, NewRun, Waiter } from "./decision.ts";
import { removeWaiter } from "./queue.ts";
import { countSlots, type OrgSlots, quotaOf, refusalOf } from "./slots.ts";

/**
 * The most requests that may wait at this service, across all orgs; more are refused at once. Each holds a connection, and
 * some must be left for reading and cancelling runs (see `connectionLimits`).
 */
const longestQueue = 1_000;

/**
 * Decides on a start request: a run, a refusal, or a ticket. The day's limit is checked before the slots, since waiting
 * doesn't help against it (contract: "Limits").
 */
export async function enter(decision: Decision, waiter: Waiter): Promise<void> {
  const { tx, deliveries, waiters, now, store } = decision;
  if (await answerRepeated(decision, waiter)) return;
  const org = await countSlots(tx, waiter.request.orgId, now);
  await grantSlots(decision, org);
  waiter.askedAt ??= now;
  const refusal = refusalOf(org, now);
  if (refusal === undefined) await grantRun(decision, org, waiter);
  else if (refusal.scope === "org" && waiter.mayWait && waiters.size < longestQueue) {
    waiter.ticket = await store.addWaiter(decision, waiter);
    waiters.set(waiter.ticket, waiter);
  } else deliveries.push({ waiter, outcome: { kind: "refused", refusal, quota: quotaOf(org) } });
}

/** Refuses a waiter whose time is up, unless a slot has just come free. */
export async function expire(decision: Decision, waiter: Waiter, ticket: string): Promise<void> {
  const { tx, deliveries, now } = decision;
  const org = await countSlots(tx, waiter.request.orgId, now);
  await grantSlots(decision, org);
  if (!(await removeWaiter(tx, ticket))) return;
  deliveries.push({ waiter, outcome: { kind: "refused", refusal: { scope: "org" }, quota: quotaOf(org) } });
}

/**
 * Grants the org's free slots to those who have waited longest. A waiter whose caller has left is passed over. If the
 * day's runs are used up, all waiters are refused with scope `free-day`.
 */
export async function grantSlots(decision: Decision, org: OrgSlots): Promise<void> {
  const { store, deliveries, now } = decision;
  while (refusalOf(org, now)?.scope !== "org") {
    const oldest = await store.takeOldest(decision, org.id);
    if (oldest === undefined) break;
    for (const waiter of oldest) {
      // Of several with the same key, the first is granted the run, and the others are answered with it.
      if (waiter.state !== "waiting" || (await answerRepeated(decision, waiter))) continue;
      const refusal = refusalOf(org, now);
      if (refusal === undefined) await grantRun(decision, org, waiter);
      else deliveries.push({ waiter, outcome: { kind: "refused", refusal, quota: quotaOf(org) } });
    }
  }
}

/** Grants a run. The only place that makes one. */
async function grantRun(decision: Decision, org: OrgSlots, waiter: Waiter): Promise<void> {
  const { deliveries, makeId, runner, now, store } = decision;
  const { request } = waiter;
  const row: NewRun = {
    id: makeId("run"),
    org_id: org.id,
    project: request.project,
    pipeline: request.pipeline,
    actor: request.actor,
    runner,
    status: "running",
    day: utcDay(now),
    created_at: now,
    stopped_at: null,
    time_limit_seconds: request.timeLimitSeconds,
    reason: null,
    inputs: inputsColumn(request.inputs),
    outputs: null,
    git_commit: null,
    agent: request.agent ?? null,
    asked_at: waiter.askedAt ?? null,
    idempotency_key: request.idempotencyKey ?? null,
  };
  await store.insertRun(decision, row, waiter);
  org.active += 1;
  org.runsToday += 1;
  deliveries.push({ waiter, outcome: { kind: "started", run: asRun(row), quota: quotaOf(org) } });
}

/** Answers with the run that the request's idempotency key has started, or with `conflict`. @returns whether it did. */
export async function answerRepeated(decision: Decision, waiter: Waiter): Promise<boolean> {
  const { deliveries } = decision;
  try {
    const outcome = await joinRepeated(decision, waiter.request, waiter);
    if (outcome === undefined) return false;
    deliveries.push({ waiter, outcome });
  } catch (error) {
    if (!(error instanceof PipelineError && error.type === "conflict")) throw error;
    deliveries.push({ waiter, error });
  }
  return true;
}

/** What identifies a repeated start request. `project` is undefined where the request names none. */
export type KeyedRequest = Pick<EnterRequest, "orgId" | "actor" | "idempotencyKey" | "pipeline" | "given"> & {
  readonly project: string | undefined;
};

/**
 * The run that the request's idempotency key has started, kept for this caller too.
 * @throws PipelineError `conflict` when the key was used for another pipeline, or with other inputs.
 */
export async function joinRepeated(
  decision: Decision,
  request: KeyedRequest,
  waiter?: Waiter,
): Promise<EnterOutcome | undefined> {
  const { tx, now, store } = decision;
  const run = await findRepeated(tx, request);
  if (run === undefined || !(await store.joinRun(decision, run.runId, waiter))) return undefined;
  return { kind: "repeated", run, quota: quotaOf(await countSlots(tx, request.orgId, now)) };
}

async function findRepeated(db: Database, request: KeyedRequest): Promise<ServedRun | undefined> {
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
  return selectRuns(db).where("actor", "=", actor).where("idempotency_key", "=", idempotencyKey);
}
