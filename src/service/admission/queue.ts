import { type RawBuilder, type Selectable, sql } from "kysely";
import type { Queue } from "../../contract/org.ts";
import { keyName } from "../store/keys.ts";
import { inputsColumn } from "../store/runInputs.ts";
import type { Database, Tables, Write } from "../store/tables.ts";
import type { EnterRequest, Waiter } from "./decision.ts";

/** Selects the tickets of a waiter and of all with its idempotency key: one request, sent again. @param oldest its row. */
export function withSameKey(oldest: RawBuilder<unknown>) {
  return sql`
    with oldest as (${oldest})
    select waiters.ticket from waiters join oldest on waiters.ticket = oldest.ticket
      or waiters.actor = oldest.actor and waiters.idempotency_key = oldest.idempotency_key`;
}

/** The columns of a request in the queue, for `insert`. */
export function waiterRow({ request, askedAt }: Waiter, ticket: string, holder: string) {
  return {
    ticket,
    org_id: request.orgId,
    actor: request.actor,
    project: request.project,
    pipeline: request.pipeline,
    time_limit_seconds: request.timeLimitSeconds,
    idempotency_key: request.idempotencyKey ?? null,
    agent: request.agent ?? null,
    inputs: inputsColumn(request.inputs),
    asked_at: askedAt ?? null,
    holder,
  };
}

/** @returns whether the ticket was in the queue. */
export async function removeWaiter(tx: Write, ticket: string): Promise<boolean> {
  const { rows } = await sql`delete from waiters where ticket = ${ticket} returning ticket`.execute(tx);
  return rows.length > 0;
}

/** Removes the waiters of earlier starts of the service: their connections are closed. */
export async function sweepWaiters(tx: Write, holder: string): Promise<void> {
  await tx.deleteFrom("waiters").where("holder", "!=", holder).execute();
}

/** A start request in the queue, as its org's members see it. */
export type WaitingStart = Pick<
  Selectable<Tables["waiters"]>,
  "ticket" | "pipeline" | "project" | "actor"
> & {
  /** The name of the actor's key; null for a key without one. */
  readonly actor_name: string | null;
};

/** An org's queue, as everyone who watches it sees it. */
export interface OrgQueue {
  /** The oldest first. */
  readonly waiting: readonly WaitingStart[];
  /** The queue, with the place of the watcher's own request that has that idempotency key. */
  seenBy(watcher: Pick<EnterRequest, "actor" | "idempotencyKey">): Queue;
}

interface QueuedRequest extends WaitingStart {
  readonly idempotency_key: string | null;
  /** 0 where its server has died. */
  readonly is_waiting: number;
}

/** Reads an org's queue, once for all watchers, who are as many as the waiters. A request sent again has several rows. */
export async function readQueue(
  db: Database,
  isWaiting: RawBuilder<boolean>,
  orgId: string,
): Promise<OrgQueue> {
  const { rows } = await sql<QueuedRequest>`
    select min(ticket) as ticket, pipeline, project, actor, ${keyName(sql`waiters.actor`)} as actor_name,
      idempotency_key, max(case when ${isWaiting} then 1 else 0 end) as is_waiting
    from waiters where org_id = ${orgId}
    group by actor, pipeline, project, coalesce(idempotency_key, ticket), idempotency_key order by min(ticket)`.execute(
    db,
  );
  const places = new Map<string, number>();
  const waiting: WaitingStart[] = [];
  for (const { is_waiting: isCounted, idempotency_key: key, ...start } of rows) {
    if (isCounted) waiting.push(start);
    const name = `${start.actor} ${key}`;
    if (key !== null && !places.has(name)) places.set(name, waiting.length);
  }
  return {
    waiting,
    seenBy({ actor, idempotencyKey }) {
      const place = idempotencyKey === undefined ? 0 : (places.get(`${actor} ${idempotencyKey}`) ?? 0);
      return { waiting: waiting.length, ...(place === 0 ? {} : { place }) };
    },
  };
}
