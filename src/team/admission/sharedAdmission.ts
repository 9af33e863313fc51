import { utcDay } from "../../contract/limits.ts";
import { systemClock } from "../../machine/clock.ts";
import { Admission, type AdmissionDeps } from "../../service/admission/admission.ts";
import type { Decision } from "../../service/admission/decision.ts";
import { answerRepeated, expire, grantSlots } from "../../service/admission/grant.ts";
import { countSlots } from "../../service/admission/slots.ts";
import { OrgTurns } from "./orgTurns.ts";
import { claimRuns } from "./postgresAdmission.ts";

export interface SharedAdmissionDeps extends AdmissionDeps {
  /** Called with the time that a decision took, or from a grant until the waiter's server had it, in milliseconds. */
  readonly observe: (what: "admission" | "handOver", milliseconds: number) => void;
}

/**
 * The admission of one of many servers. Each server decides on the waiters of all. A run that is granted to another server's
 * waiter has the waiter's ticket in its row, and that server claims it.
 */
export class SharedAdmission extends Admission {
  readonly #deps: SharedAdmissionDeps;
  // By the machine's time, not the database's: a decision waits for a database that may be away.
  readonly #turns = new OrgTurns(systemClock);

  constructor(deps: SharedAdmissionDeps) {
    super(deps);
    this.#deps = deps;
  }

  /** The tickets of this server's waiters in an org; in all orgs, if left out. */
  tickets(orgId?: string): { readonly orgId: string; readonly ticket: string }[] {
    return [...this.waiters]
      .map(([ticket, { request }]) => ({ ticket, orgId: request.orgId }))
      .filter((waiter) => orgId === undefined || waiter.orgId === orgId);
  }

  /** Answers the waiters that other servers have granted runs to. A run whose waiter has left is withdrawn. */
  async claim(): Promise<void> {
    const { db, holder, clock, runs, observe } = this.#deps;
    for (const { ticket, run, quota } of await claimRuns(db, holder, utcDay(clock.now()))) {
      observe("handOver", clock.now() - Date.parse(run.createdAt));
      const waiter = this.waiters.get(ticket);
      if (waiter === undefined) runs.withdraw(run.runId);
      else this.deliver({ waiter, outcome: { kind: "started", run, quota } });
    }
  }

  /** Puts a waiter back in its place that another server has taken out of the queue without granting it a run. */
  async reenter(ticket: string): Promise<void> {
    const waiter = this.waiters.get(ticket);
    if (waiter === undefined) return;
    const { orgId } = waiter.request;
    await this.decide(orgId, async (decision) => {
      const { tx, store, now } = decision;
      if (waiter.state !== "waiting" || (await isQueued(decision, ticket))) return;
      if (await answerRepeated(decision, waiter)) return;
      await store.addWaiter(decision, waiter);
      if (waiter.mayWait) await grantSlots(decision, await countSlots(tx, orgId, now));
      else await expire(decision, waiter, ticket);
    });
  }

  protected override async decide<T>(orgId: string, act: (decision: Decision) => Promise<T>): Promise<T> {
    const { clock, observe } = this.#deps;
    const began = clock.monotonic();
    const decided = await this.#turns.take(orgId, () => super.decide(orgId, act));
    observe("admission", clock.monotonic() - began);
    return decided;
  }

  /** A waiter that left may still be granted a run by another server; `claim` withdraws it. */
  protected override async remove(ticket: string): Promise<boolean> {
    const wasQueued = await super.remove(ticket);
    if (!wasQueued) await this.claim();
    return wasQueued;
  }
}

async function isQueued({ tx }: Decision, ticket: string): Promise<boolean> {
  const row = await tx.selectFrom("waiters").select("ticket").where("ticket", "=", ticket).executeTakeFirst();
  return row !== undefined;
}
