import { answerRepeated, type Decision, grantRun, grantSlots } from "./grant.ts";
import { removeWaiter, storedRequest } from "./queue.ts";
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
  const { tx, deliveries, waiters, holder, now, store } = decision;
  const { request } = waiter;
  if (await answerRepeated(decision, waiter)) return;
  const org = await countSlots(tx, request.orgId, now);
  await grantSlots(decision, org);
  const refusal = refusalOf(org, now);
  waiter.askedAt ??= now;
  const stored = storedRequest(request, waiter.askedAt);
  if (refusal === undefined) await grantRun(decision, org, stored, waiter);
  else if (
    refusal.scope === "org" &&
    waiter.mayWait &&
    (waiter.ticket !== undefined || waiters.size < longestQueue)
  ) {
    const { ticket } = waiter;
    waiter.ticket = await store.addWaiter(tx, stored, { holder, ticket });
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
