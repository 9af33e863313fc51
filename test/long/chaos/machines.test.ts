import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { sql } from "kysely";
import * as z from "zod/mini";
import { utcDay } from "../../../src/contract/limits.ts";
import { leaseSeconds } from "../../../src/contract/runners.ts";
import { anySignal } from "../../../src/machine/anySignal.ts";
import type { Database } from "../../../src/service/store/tables.ts";
import { logKey } from "../../../src/team/store/movedFiles.ts";
import { databaseNow, MachineTeam, type Member, runsPerDay } from "../../chaos/machineTeam.ts";
import { actOf, itPlays, pick, type Round } from "../../chaos/round.ts";
import { postgresFolder } from "../../postgres/installPostgres.ts";
import { until } from "../../until.ts";

/** `which` and `server` are indexes, taken modulo the number of programs. */
const which = fc.nat({ max: 1000 });
const program = fc.constantFrom("server", "runner");

/** One thing that happens to the servers, the runners, their database, the lines between them, or the starts of their orgs. */
const act = fc.oneof(
  actOf(12, "start", {
    // Some orgs start so many runs that starts wait for each other and use up the day.
    org: fc.oneof({ weight: 3, arbitrary: fc.nat({ max: 3 }) }, { weight: 2, arbitrary: which }),
    server: which,
    wait: fc.constantFrom(0, 5, 30),
    times: fc.integer({ min: 1, max: 6 }),
    seconds: fc.constantFrom(0.05, 0.3, 1),
  }),
  actOf(3, "cancel", { which, server: which }),
  actOf(1, "leave", { which }),
  actOf(4, "kill", { what: program, which }),
  actOf(1, "upgrade all", { what: program }),
  actOf(2, "suspend", { what: program, which, seconds: fc.constantFrom(0.5, 25, 3, 12) }),
  actOf(3, "break line", {
    of: fc.constantFrom("runner", "clients", "database", "store"),
    which,
    how: fc.constantFrom("cut", "silent"),
    seconds: fc.constantFrom(0, 25, 3, 12),
  }),
  actOf(1, "set clock", { what: program, which, hours: fc.integer({ min: -30, max: 30 }) }),
  actOf(1, "restart database", {}),
  actOf(6, "pause", { seconds: fc.constantFrom(0.1, 0.5, 2) }),
);

type MachineAct = typeof act extends fc.Arbitrary<infer Act> ? Act : never;

/** How long everything may take to come to rest, in milliseconds: a lease, a grace time, and what is left of the queue. */
const restWithin = 120_000;

/** Applies faults to a team's machines, and checks the invariants. */
class MachineChaos implements AsyncDisposable {
  readonly #round: Round;
  readonly #team: MachineTeam;
  readonly #starts: MachineStarts;
  readonly #checks: RowChecks;
  readonly #later = new Set<Promise<void>>();

  static async begin(native: string, round: Round): Promise<MachineChaos> {
    const team = await MachineTeam.begin(native, round);
    await watchOrder(team.db);
    return new MachineChaos(round, team);
  }

  private constructor(round: Round, team: MachineTeam) {
    this.#round = round;
    this.#team = team;
    this.#starts = new MachineStarts(round, team);
    this.#checks = new RowChecks(round, team);
  }

  async make(act: MachineAct): Promise<void> {
    const { members, lines } = this.#team;
    switch (act.act) {
      case "start": {
        const member = pick(members, act.org);
        for (let time = 0; member !== undefined && time < act.times; time++) {
          this.#starts.ask(member, act.server + time, act.wait, act.seconds);
        }
        break;
      }
      case "cancel": {
        const run = pick(await this.#checks.active(), act.which);
        const member = members.find(({ orgId }) => orgId === run?.org_id);
        if (run === undefined || member === undefined) break;
        this.#after(0, () => this.#starts.cancel(member, act.server, run.id));
        break;
      }
      case "leave":
        this.#starts.leave(act.which);
        break;
      case "kill":
        this.#program(act)?.signal("SIGKILL");
        break;
      case "upgrade all":
        this.#after(0, () => this.#team.upgrade(act.what));
        break;
      case "suspend": {
        const program = this.#program(act);
        program?.signal("SIGSTOP");
        this.#after(act.seconds, () => program?.signal("SIGCONT"));
        break;
      }
      case "break line": {
        const line = pick(lines[act.of], act.which);
        line?.become(act.how);
        this.#after(act.seconds, () => line?.become("open"));
        break;
      }
      case "set clock":
        this.#program(act)?.setClock(act.hours);
        break;
      case "restart database":
        await this.#team.restartDatabase();
        break;
      case "pause":
        await pause(act.seconds * 1000);
        break;
      default:
        act satisfies never;
    }
    await this.#checks.check();
  }

  /** Lets everything come to rest by itself, and then checks all that was ever answered. */
  async finish(): Promise<void> {
    this.#round.trace("coming to rest");
    await Promise.all(this.#later);
    this.#round.trace("nothing happens any more");
    await this.#round.comesToRest("it doesn't come to rest", restWithin, async () => {
      await this.#checks.check();
      const active = await this.#checks.active();
      const { open } = this.#starts;
      return active.length === 0 && open === 0 ? undefined : { active, open };
    });
    this.#round.trace("at rest");
    for (const server of this.#team.servers) {
      await server.ready();
      // It may notice only now that its connections are dead.
      await this.#round.comesToRest("a server isn't ready, when all is done", restWithin, async () =>
        (await fetch(`${server.url}/readyz`)).ok ? undefined : server.url,
      );
    }
    const rows = await this.#checks.finish();
    this.#round.trace("ends", Object.fromEntries(ends(rows)));
    await this.#starts.finish(new Set(rows.map(({ id }) => id)));
  }

  #program({ what, which }: { readonly what: "server" | "runner"; readonly which: number }) {
    return pick(what === "server" ? this.#team.servers : this.#team.runners, which);
  }

  #after(seconds: number, act: () => unknown): void {
    const done = pause(seconds * 1000).then(async () => void (await act()));
    this.#later.add(done);
    void done.finally(() => this.#later.delete(done));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#starts.leaveAll();
    await this.#team[Symbol.asyncDispose]();
  }
}

function ends(rows: readonly { readonly status: string; readonly reason: string | null }[]) {
  const grouped = Map.groupBy(rows, ({ status, reason }) => (status === "lost" ? `lost: ${reason}` : status));
  return [...grouped].map(([end, { length }]) => [end, length] as const);
}

interface AskedStart {
  readonly leaving: AbortController;
  /** The run, `refused`, or undefined while it is open, or was left or given up. */
  outcome: string | undefined;
  done: Promise<void>;
}

/** How long a request may take beyond what it waits for its slot, in milliseconds; then it is sent again. */
const requestMilliseconds = 10_000;

/** The starts and cancels that clients ask any server for, and what they were answered. */
class MachineStarts {
  readonly #round: Round;
  readonly #team: MachineTeam;
  readonly #asked: AskedStart[] = [];

  constructor(round: Round, team: MachineTeam) {
    this.#round = round;
    this.#team = team;
  }

  /** The number of requests without an answer yet. */
  get open(): number {
    return this.#asked.filter(({ outcome, leaving }) => outcome === undefined && !leaving.signal.aborted)
      .length;
  }

  ask(member: Member, server: number, wait: number, seconds: number): void {
    const leaving = new AbortController();
    const asked: AskedStart = { leaving, outcome: undefined, done: Promise.resolve() };
    const name = `p${this.#asked.length}`;
    const command = `exec 9>>${member.lock}; flock -n 9 || echo ${name} >> ${member.overlaps}; echo begun; sleep ${seconds}; echo done`;
    const text = `resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: ${JSON.stringify(command)}\n`;
    asked.done = this.#request(member, server, "runs", {
      body: { pipeline: name, project: "shop", definition: { path: `pipelines/${name}.yaml`, text } },
      key: randomUUID(),
      wait,
      signal: leaving.signal,
    }).then((reply) => {
      if (reply?.status === 201) asked.outcome = startedSchema.parse(reply.body)["run-id"];
      if (reply?.status === 429) asked.outcome = "refused";
      if (reply === undefined) leaving.abort();
      const isAnswer = reply === undefined || reply.status === 201 || reply.status === 429;
      this.#round.check(isAnswer, "a start is answered by neither a run nor a limit", { reply });
    });
    this.#asked.push(asked);
  }

  async cancel(member: Member, server: number, runId: string): Promise<void> {
    await this.#request(member, server, `runs/${runId}/cancel`, {});
  }

  leave(which: number): void {
    pick(this.#asked, which)?.leaving.abort();
  }

  /** To be called once everything is at rest. @param ids of all runs in the database. */
  async finish(ids: ReadonlySet<string>): Promise<void> {
    await Promise.all(this.#asked.map(({ done }) => done));
    for (const { outcome } of this.#asked) {
      if (outcome === undefined || outcome === "refused") continue;
      this.#round.check(ids.has(outcome), "a run that was answered is gone", { outcome });
    }
  }

  leaveAll(): void {
    for (const { leaving } of this.#asked) leaving.abort();
  }

  /**
   * Asks one server after the other, some of them over a line that may break, as a client behind a balancer does, until one
   * answers. @returns undefined when it gives up.
   */
  async #request(
    { apiKey }: Member,
    first: number,
    path: string,
    {
      body,
      key,
      wait = 0,
      signal = new AbortController().signal,
    }: {
      readonly body?: unknown;
      readonly key?: string;
      readonly wait?: number;
      readonly signal?: AbortSignal;
    },
  ): Promise<{ readonly status: number; readonly body: unknown } | undefined> {
    const { servers, lines } = this.#team;
    const ways = () => [...servers.map(({ url }) => url), ...lines.clients.map(({ origin }) => origin)];
    for (let attempt = 0; attempt < 200 && !signal.aborted; attempt++) {
      try {
        const timeout = AbortSignal.timeout(wait * 1000 + requestMilliseconds);
        const reply = await fetch(`${pick(ways(), first + attempt)}/api/${path}`, {
          method: "POST",
          headers: {
            "x-api-key": apiKey,
            ...(key === undefined ? {} : { "idempotency-key": key }),
            ...(wait > 0 ? { prefer: `wait=${wait}` } : {}),
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          signal: anySignal([signal, timeout]),
        });
        const text = await reply.text();
        // A server that was suspended has found the request incomplete, and has done nothing.
        if (reply.status < 500 && reply.status !== 408)
          return { status: reply.status, body: JSON.parse(text) };
        this.#round.check([408, 503].includes(reply.status), "a server failed at a request", { path, text });
      } catch {
        // It was killed, suspended or cut off, or is not there yet.
      }
      await pause(100);
    }
    return undefined;
  }
}

const startedSchema = z.object({ "run-id": z.string() });
const sequenceSchema = z.object({ sequence: z.number() });

/** How long after its lease a run may hold its slot, in milliseconds: servers may have to come back first. */
const graceMilliseconds = 10_000;
/** How far the times in rows may be from the database's clock, in milliseconds. */
const exactness = 1_000;

/** A trigger that records, at each grant, the live waiters with an older ticket that were passed over. */
async function watchOrder(db: Database): Promise<void> {
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
class RowChecks {
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
    await this.#checkLogs(rows);
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

  /** Every log is in the object store in the end, and nothing else is. */
  async #checkLogs(rows: readonly Row[]): Promise<void> {
    const { db, objects } = this.#team;
    await this.#round.comesToRest("a log isn't moved to the object store", restWithin, async () => {
      const left = await db.selectFrom("log_chunks").select("run_id").distinct().execute();
      return left.length === 0 ? undefined : left;
    });
    const logs = rows.filter(({ log_entries }) => log_entries > 0);
    // A server that was killed as it began may have left its trial.
    const keys = (await objects.keys()).filter((key) => key.startsWith("runs/"));
    this.#round.checkSame(
      keys,
      logs.map(({ id }) => logKey(id)).sort(),
      "the object store has other objects than the logs",
    );
    for (const { id, log_entries } of logs) {
      const lines = String(await objects.get(logKey(id))).split("\n");
      const sequences = lines.slice(0, -1).map((line) => sequenceSchema.parse(JSON.parse(line)).sequence);
      const gap = sequences.find((sequence, at) => sequence !== at + 1);
      this.#round.check(gap === undefined, "a log has a gap or an entry twice", { id, gap });
      const { length } = sequences;
      this.#round.check(length === log_entries, "a log is longer than its run has said", { id, length });
    }
    this.#round.trace("logs in the object store", { logs: logs.length });
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

type Row = Awaited<ReturnType<typeof readRows>>[number];

function readRows(db: Database) {
  return db
    .selectFrom("runs")
    .select(["id", "org_id", "day", "status", "created_at", "stopped_at", "idempotency_key", "reason"])
    .select(["holder", "launched_at", "lease_until", "messages", "log_entries"])
    .execute();
}

const native = postgresFolder();
if (native !== undefined) {
  describe("many servers and runners on one PostgreSQL", () => {
    itPlays(
      "keep every promise over kill -9, SIGSTOP and upgrades of any, broken lines, and crashes of the database",
      {
        name: "machines",
        act,
        mostActs: 60,
        async play(planned, round) {
          await using chaos = await MachineChaos.begin(native, round);
          for (const one of round.acts(planned)) await chaos.make(one);
          await chaos.finish();
        },
      },
    );
  });
}
