import { sql } from "kysely";
import type { ActiveRuns } from "../runs/activeRuns.ts";
import type { MakeId } from "../store/ids.ts";
import { removeRun } from "../store/runs.ts";
import type { AdmissionStore } from "./decision.ts";
import { waiterRow, withSameKey } from "./queue.ts";

export interface SqliteAdmissionDeps {
  readonly now: () => number;
  readonly makeId: MakeId;
  readonly holder: string;
  /** Gets each run before its row is committed, so that no row is ever without a holder. */
  readonly runs: Pick<ActiveRuns, "add" | "join" | "remove" | "isWithdrawn" | "withdraw">;
}

/** Admission on SQLite: `begin immediate` is the lock. All requests in the queue are held by this service. */
export function sqliteAdmission({ now, makeId, holder, runs }: SqliteAdmissionDeps): AdmissionStore {
  return {
    isWaiting: sql`waiters.holder = ${holder}`,
    lock: async () => now(),
    async addWaiter({ tx }, waiter) {
      const ticket = makeId("ticket");
      await tx
        .insertInto("waiters")
        .values(waiterRow(waiter, ticket, holder))
        .execute();
      return ticket;
    },
    async takeOldest({ tx, waiters }, orgId) {
      const oldest = sql`
        select ticket, actor, idempotency_key from waiters where org_id = ${orgId} order by ticket limit 1`;
      const { rows } = await sql<{ ticket: string }>`
        delete from waiters where ticket in (${withSameKey(oldest)}) returning ticket`.execute(tx);
      if (rows.length === 0) return undefined;
      const tickets = rows.map(({ ticket }) => ticket).sort();
      return tickets.flatMap((ticket) => waiters.get(ticket) ?? []);
    },
    async insertRun({ tx, undo }, row, { request }) {
      const columns = Object.keys(row).map((name) => sql.raw(name));
      await sql`insert into runs (${sql.join(columns)}) values (${sql.join(Object.values(row))})`.execute(tx);
      runs.add(row.id, request);
      undo.push(() => runs.remove(row.id));
    },
    async joinRun({ tx, undo }, runId) {
      if (runs.isWithdrawn(runId)) {
        // The withdrawal hasn't removed the row yet, or failed because the disk was full.
        await removeRun(tx, runId);
        return false;
      }
      runs.join(runId);
      undo.push(() => runs.withdraw(runId));
      return true;
    },
  };
}
