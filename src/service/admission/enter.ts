import type { Decision } from "./decision.ts";
import { answerRepeated, grantRun, grantSlots } from "./grant.ts";
import { removeWaiter } from "./queue.ts";
import { countSlots, quotaOf, refusalOf } from "./slots.ts";
import type { Waiter } from "./waiter.ts";

/**
 * The most requests that wait at this service, in all orgs. Further ones are refused at once: each holds a connection, and
 * reading or cancelling a run needs one as well (see `connectionLimits`).
 */
const longestQueue = 1_000;

/**
 * Decides on a start request: a run, a refusal, or a ticket. The day's limit goes before a taken slot, since waiting
 * doesn't help (contract: "Limits").
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

/** Decides on a waiter whose time is over: refused, unless a slot came free just now. */
export async function expire(decision: Decision, waiter: Waiter, ticket: string): Promise<void> {
  const { tx, deliveries, now } = decision;
  const org = await countSlots(tx, waiter.request.orgId, now);
  await grantSlots(decision, org);
  if (!(await removeWaiter(tx, ticket))) return;
  deliveries.push({ waiter, outcome: { kind: "refused", refusal: { scope: "org" }, quota: quotaOf(org) } });
}
