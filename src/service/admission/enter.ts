import { answerRepeated, type Decision, grantRun, grantSlots } from "./grant.ts";
import { addWaiter, removeWaiter } from "./queue.ts";
import { countSlots, quotaOf, refusalOf } from "./slots.ts";
import type { Waiter } from "./waiter.ts";

/**
 * The most requests that wait, in all orgs. Further ones are refused at once: each holds a connection, and reading or
 * cancelling a run needs one as well (see `connectionLimits`).
 */
const longestQueue = 1_000;

/**
 * Decides on a start request: a run, a refusal, or a ticket. The day's limit goes before a taken slot, since waiting
 * doesn't help (contract: "Limits").
 */
export async function enter(decision: Decision, waiter: Waiter): Promise<void> {
  const { tx, deliveries, waiters, holder } = decision;
  const { request } = waiter;
  if (await answerRepeated(decision, waiter)) return;
  const org = await countSlots(tx, request.orgId, decision.now());
  await grantSlots(decision, org);
  const refusal = refusalOf(org, decision.now());
  if (refusal === undefined) await grantRun(decision, org, request, waiter);
  else if (refusal.scope === "org" && waiter.mayWait && waiters.size < longestQueue) {
    const ticket = decision.makeId("ticket");
    await addWaiter(tx, { ticket, holder, request });
    waiter.ticket = ticket;
    waiters.set(ticket, waiter);
  } else deliveries.push({ waiter, outcome: { kind: "refused", refusal, quota: quotaOf(org) } });
}

/** Decides on a waiter whose time is over: refused, unless a slot came free just now. */
export async function expire(decision: Decision, waiter: Waiter, ticket: string): Promise<void> {
  const { tx, deliveries, now } = decision;
  const org = await countSlots(tx, waiter.request.orgId, now());
  await grantSlots(decision, org);
  await removeWaiter(tx, ticket);
  deliveries.push({ waiter, outcome: { kind: "refused", refusal: { scope: "org" }, quota: quotaOf(org) } });
}
