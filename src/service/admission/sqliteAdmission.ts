import { sql } from "kysely";
import type { MakeId } from "../store/ids.ts";
import { leaseMilliseconds } from "./leases.ts";
import {
  type AdmissionStore,
  queuedRequests,
  type WaiterRow,
  waiterColumns,
  waiterRow,
  withSameKey,
} from "./queue.ts";

/** Admission on SQLite: `begin immediate` is the lock, and this service the only one. */
export function sqliteAdmission({
  now,
  makeId,
}: {
  readonly now: () => number;
  readonly makeId: MakeId;
}): AdmissionStore {
  return {
    // Those of an earlier start were removed by this one.
    isWaiting: sql`true`,
    lock: async () => now(),
    async addWaiter(tx, request, { holder, ticket = makeId("ticket") }) {
      await tx
        .insertInto("waiters")
        .values(waiterRow(request, ticket, holder))
        .execute();
      return ticket;
    },
    async takeOldest(tx, orgId) {
      const { rows } = await sql<WaiterRow>`
        delete from waiters where ticket in (${withSameKey(
          sql`select ticket, actor, idempotency_key from waiters
            where org_id = ${orgId} order by ticket limit 1`,
        )}) returning ${waiterColumns}`.execute(tx);
      return queuedRequests(rows);
    },
    async insertRun(tx, { row }, at) {
      const values = { ...row, lease_until: at + leaseMilliseconds };
      const columns = Object.keys(values).map((name) => sql.raw(name));
      await sql`insert into runs (${sql.join(columns)}) values (${sql.join(Object.values(values))})`.execute(
        tx,
      );
    },
    ring: async () => {},
    claim: async () => [],
    keep: async () => {},
  };
}
