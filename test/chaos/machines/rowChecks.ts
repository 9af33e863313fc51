import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { sql } from "kysely";
import { utcDay } from "../../../src/contract/day.ts";
import { leaseSeconds } from "../../../src/contract/runners.ts";
import type { Database } from "../../../src/service/store/tables.ts";
import { until } from "../../until.ts";
import type { Round } from "../round.ts";
import { databaseNow, type MachineTeam, runsPerDay } from "./machineTeam.ts";

/** How long after its lease a run may hold its slot, in milliseconds: servers may have to come back first. */
const graceMilliseconds = 10_000;
/** How far the times in rows may be from the database's clock, in milliseconds. */
const exactness = 1_000;

/** A trigger that records, at each grant, the live waiters with an older ticket that were passed over. */
export async function watchOrder(db: Database): Promise<void> {
  await sql`
    create table grants (run_id text, ticket text, passed_over text[]);
    create function note_left() returns trigger language plpgsql as $$ declare
      queued text[] := string_to_array(current_setting('chaos.left', true), ' ');
    begin
      -- A request that was sent again has the place of its oldest ticket.
      if queued[1] is distinct from old.idempotency_key or old.ticket < queued[2] then
        perform set_config('chaos.left', concat_ws(' ', old.idempotency_key, old.ticket), true);
      end if;
      return null;
    end $$;
    create function note_grant() returns trigger language plpgsql as $$ declare
      queued text[] := string_to_array(current_setting('chaos.left', true), ' ');
      own text := case when queued[1] = new.idempotency_key then queued[2] end;
    begin
      insert into grants values (new.id, own, array(
        select ticket from waiters join servers on servers.id = waiters.holder
        where org_id = new.org_id and (own is null or ticket < own)
          and alive_until > extract(epoch from clock_timestamp()) * 1000
          -- Said to be alive only after the grant was being decided on.
          and alive_until - 1000 < new.created_at));
      return null;
    end $$;
    create trigger note_left after delete on waiters for each row execute function note_left();
    create trigger note_grant after insert on runs for each row execute function note_grant();`.execute(db);
}

/** What has to hold of the rows at every moment, and of the steps' processes. */
export class RowChecks {
  readonly #round: Round;
  readonly #team: MachineTeam;
  readonly #began = databaseNow();
  /** The rows of the runs that are over, as they were then. */
  readonly #over = new Map<string, Row>();

  constructor(round: Round, team: MachineTeam) {
    this.#round = round;
    this.#team = team;
  }

  /** It may be that the database is being restarted. */
  rows() {
    return until(() => readRows(this.#team.db).catch(() => undefined));
  }

  async active(): Promise<Row[]> {
    return (await this.rows()).filter(({ stopped_at }) => stopped_at === null);
  }

  async check(): Promise<void> {
    const rows = await this.rows();
    for (const { orgId, overlaps } of this.#team.members) {
      const own = rows.filter(({ org_id }) => org_id === orgId);
      const active = own.filter(({ stopped_at }) => stopped_at === null);
      this.#round.check(active.length <= 1, "two runs of an org are active", active);
      for (const [day, { length }] of Map.groupBy(own, (row) => row.day)) {
        this.#round.check(length <= runsPerDay, "more runs than the day may have", { day, length });
      }
      const overlapping = await readFile(overlaps, "utf8");
      this.#round.check(overlapping === "", "two runs of an org had processes at once", { overlapping });
    }
    const keys = rows.map(({ idempotency_key }) => idempotency_key);
    this.#round.check(new Set(keys).size === keys.length, "one start made two runs");
    for (const row of rows) this.#checkRow(row);
  }

  /** To be called once everything is at rest. */
  async finish(): Promise<readonly Row[]> {
    await this.check();
    const rows = await this.rows();
    const { db } = this.#team;
    const chunks = await db
      .selectFrom("log_chunks")
      .select(["run_id", "first", "lines"])
      .orderBy("first")
      .execute();
    const chunksOf = Map.groupBy(chunks, ({ run_id }) => run_id);
    for (const { id, log_entries } of rows) {
      let next = 1;
      for (const { first, lines } of chunksOf.get(id) ?? []) {
        this.#round.check(first === next, "a log has a gap or an entry twice", { id, first, next });
        next = first + lines.split("\n").length;
      }
      this.#round.check(next === log_entries + 1, "a log is longer than its run has said", { id, next });
    }
    const { rows: grants } = await sql<{ run_id: string; ticket: string | null; passed_over: string[] }>`
      select * from grants`.execute(db);
    for (const grant of grants) {
      this.#round.check(grant.passed_over.length === 0, "a waiter was passed over", grant);
    }
    this.#round.trace("granted", {
      all: grants.length,
      toWaiters: grants.filter(({ ticket }) => ticket !== null).length,
      orgsWithUsedUpDay: [...Map.groupBy(rows, ({ org_id }) => org_id).values()].filter(
        ({ length }) => length === runsPerDay,
      ).length,
    });
    const waiting = await db
      .selectFrom("waiters")
      .innerJoin("servers", "servers.id", "waiters.holder")
      .selectAll()
      .execute();
    this.#round.checkSame(
      waiting.filter(({ alive_until }) => alive_until > databaseNow()),
      [],
      "someone is still in the queue",
    );
    return rows;
  }

  #checkRow(row: Row): void {
    const now = databaseNow();
    const { created_at, stopped_at, lease_until } = row;
    const isTime = (time: number) => time > this.#began - exactness && time < now + exactness;
    this.#round.check(
      isTime(created_at) && row.day === utcDay(created_at),
      "a run was made at another time than the database's",
      { ...row, now },
    );
    if (stopped_at === null) {
      const until = Math.max(lease_until ?? now, this.#team.databaseSince + leaseSeconds * 1000);
      this.#round.check(now < until + graceMilliseconds, "a slot is held for longer than its lease", {
        ...row,
        now,
      });
      return;
    }
    this.#round.check(
      stopped_at > created_at - exactness && isTime(stopped_at),
      "a run has ended at another time than the database's",
      { ...row, now },
    );
    const before = this.#over.get(row.id) ?? row;
    this.#over.set(row.id, before);
    this.#round.check(isDeepStrictEqual(row, before), "something was taken in of a run that was over", {
      before,
      row,
    });
  }
}

export type Row = Awaited<ReturnType<typeof readRows>>[number];

function readRows(db: Database) {
  return db
    .selectFrom("runs")
    .select(["id", "org_id", "day", "status", "created_at", "stopped_at", "idempotency_key", "reason"])
    .select(["holder", "launched_at", "lease_until", "messages", "log_entries"])
    .execute();
}
