import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { PipelineError } from "../../src/contract/errors.ts";
import type { RunDefinition } from "../../src/contract/run.ts";
import { EventBus } from "../../src/service/store/eventBus.ts";
import { listKeys } from "../../src/service/store/keys.ts";
import { readOrg } from "../../src/service/store/orgs.ts";
import { changedRuns, lastChange } from "../../src/service/store/runChanges.ts";
import { listRuns, readRun } from "../../src/service/store/runs.ts";
import type { Database } from "../../src/service/store/tables.ts";
import { parseDefinition } from "../../src/team/parseDefinition.ts";
import { RemoteRuns } from "../../src/team/runs/remoteRuns.ts";
import { openSharedCore } from "../../src/team/sharedCore.ts";
import { channel } from "../../src/team/store/postgresBus.ts";
import { storedPipelines } from "../../src/team/store/storedPipelines.ts";
import { endOverdue, launchRun } from "../../src/team/store/work.ts";
import { FakeClock } from "../clock/fakeClock.ts";
import { postgresFolder } from "../postgres/installPostgres.ts";
import { databasesForSuite, setDatabaseClock } from "../postgres/lentDatabases.ts";
import { type AskedStart, hasStarted } from "../service/startedCore.ts";
import { startedServers } from "../service/startedCores.ts";
import { until } from "../until.ts";

// What servers owe each other's waiters. That they keep every rule together: `admission/`.
describe("admission on many servers", () => {
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  const lend = databasesForSuite(native, "tables");
  const parser = { parse: async (_: string, definition: RunDefinition) => parseDefinition(definition) };

  /** Two servers, and a run of an org that the second one has started. */
  async function twoServers() {
    const servers = await startedServers(await lend(), "2026-03-04T12:00:00Z", 2);
    const key = await servers.key();
    const first = await servers.asked(key, 0, { server: 1 });
    return Object.assign(servers, { key, first });
  }

  it("passes over the waiters of a server that has died, and takes back what it was granted, in a second", async () => {
    await using servers = await twoServers();
    const dead = [
      await servers.asked(servers.key, 60, { server: 0 }),
      await servers.asked(servers.key, 60, { server: 0 }),
    ];
    const alive = await servers.asked(servers.key, 60, { server: 1 });
    await servers.crash();
    // Granted while nobody knows yet that the server is dead.
    servers.end(servers.first);
    await servers.quiet();
    assert(!hasStarted(alive));
    await servers.turn(1_001);
    await servers.quiet();
    assert.deepEqual([...dead, alive].map(hasStarted), [false, false, true]);
    assert.equal((await servers.rows()).filter(({ stopped_at }) => stopped_at === null).length, 1);
    assert.equal(await servers.used(servers.key), 2);
  });

  it("gives a request that is sent again its place in the queue, when its server has died", async () => {
    await using servers = await twoServers();
    const same = { name: "nightly", idempotencyKey: "key-1" };
    await servers.asked(servers.key, 60, { ...same, server: 0 });
    const later = await servers.asked(servers.key, 60, { server: 1 });
    await servers.crash();
    await servers.turn(1_001);
    const again = await servers.asked(servers.key, 60, same);
    servers.end(servers.first);
    await servers.quiet();
    assert.deepEqual([again, later].map(hasStarted), [true, false]);
  });

  it("grants nothing to the waiters of a server that is stopped, and keeps their places", async () => {
    await using servers = await twoServers();
    const same = { name: "nightly", idempotencyKey: "key-1" };
    const turnedAway = await servers.asked(servers.key, 60, { ...same, server: 0 });
    const [next, last] = [
      await servers.asked(servers.key, 60, { server: 1 }),
      await servers.asked(servers.key, 60, { server: 1 }),
    ];
    await servers.core.turnAway();
    assert(turnedAway.left instanceof PipelineError);
    servers.end(servers.first);
    await servers.quiet();
    assert.deepEqual([next, last].map(hasStarted), [true, false]);
    const again = await servers.asked(servers.key, 60, { ...same, server: 1 });
    servers.end(next);
    await servers.quiet();
    assert.deepEqual([again, last].map(hasStarted), [true, false]);
  });

  const silences = {
    "can't say that it lives": (db: Database) => db.updateTable("servers").set({ alive_until: 0 }).execute(),
    "is not known any more": (db: Database) => db.deleteFrom("servers").execute(),
  };
  for (const [what, silence] of Object.entries(silences)) {
    it(`passes over no waiter of its own while it ${what}`, async () => {
      await using servers = await startedServers(await lend(), "2026-03-04T12:00:00Z", 2);
      const key = await servers.key();
      const first = await servers.asked(key, 0, { server: 0 });
      const waiter = await servers.asked(key, 60, { server: 0 });
      await silence(servers.db);
      // The first server takes in its end.
      servers.end(first);
      await servers.quiet();
      const newcomer = await servers.asked(key, 0, { server: 0 });
      assert.deepEqual([waiter, newcomer].map(hasStarted), [true, false]);
    });
  }

  it("turns a start away that is being decided while its server is stopped, and keeps its place", async () => {
    await using servers = await twoServers();
    const { promise: held, resolve: unlock } = Promise.withResolvers<void>();
    const locking = servers.db.transaction().execute(async (tx) => {
      await sql`lock table waiters in share mode`.execute(tx);
      const asked = servers.ask(servers.key, 60, { idempotencyKey: "key-1", server: 0 });
      await until(() => isWaitingForLock(servers.db));
      unlock();
      return asked;
    });
    await held;
    const turnedAway = servers.core.turnAway();
    const asked = await locking;
    await turnedAway;
    await servers.quiet();
    assert(asked.left instanceof PipelineError);
    const waiters = await servers.db.selectFrom("waiters").select("idempotency_key").execute();
    assert.deepEqual(waiters, [{ idempotency_key: "key-1" }]);
  });

  it("withdraws a run whose caller leaves while it is being granted", async () => {
    await using servers = await startedServers(await lend(), "2026-03-04T12:00:00Z", 1);
    const key = await servers.key();
    await servers.db.transaction().execute(async (tx) => {
      await sql`lock table runs in share mode`.execute(tx);
      const asked = servers.ask(key, 0);
      await until(() => isWaitingForLock(servers.db));
      asked.leave();
    });
    await servers.quiet();
    assert.deepEqual(await servers.rows(), []);
  });

  it("tells of the run that stays where PostgreSQL has ended the transaction once for another's sake", async () => {
    await using servers = await startedServers(await lend(), "2026-03-04T12:00:00Z", 1);
    const key = await servers.key();
    const { writer } = servers.core;
    const write = writer.write.bind(writer);
    let decisions = 0;
    writer.write = (act) =>
      write(async (tx) => {
        const done = await act(tx);
        if (++decisions === 1) throw Object.assign(new Error("deadlock detected"), { code: "40P01" });
        return done;
      });
    const asked = servers.ask(key, 0);
    await until(async () => asked.outcome !== undefined);
    assert(asked.outcome?.kind === "started");
    assert.deepEqual(
      (await servers.rows()).map(({ id }) => id),
      [asked.outcome.run.runId],
    );
  });

  /** A waiter of the second server to whom the first one has granted a run, of which the second hasn't heard. */
  async function grantedUnheard() {
    const servers = await twoServers();
    const waiter = await servers.asked(servers.key, 1, { server: 1 });
    const [, second] = [...servers.cores.keys()];
    assert(second);
    const claim = second.admission.claim.bind(second.admission);
    Object.assign(second.admission, { tickets: () => [], claim: async () => {} });
    servers.end(servers.first);
    await servers.quiet();
    assert(!hasStarted(waiter) && (await servers.rows()).length === 2);
    return Object.assign(servers, { waiter, claim });
  }

  it("refuses nobody whose time is over that another server has granted a run to", async () => {
    await using servers = await grantedUnheard();
    await servers.turn(1_000);
    await servers.quiet();
    assert.equal(servers.waiter.outcome, undefined);
    await servers.claim();
    assert(hasStarted(servers.waiter));
  });

  it("withdraws a run that another server has granted to a waiter who has left", async () => {
    await using servers = await grantedUnheard();
    servers.waiter.leave();
    await servers.quiet();
    await servers.claim();
    await servers.quiet();
    assert.equal((await servers.rows()).length, 1);
  });

  it("hands a slot on at once while the one who was first is leaving", async () => {
    await using servers = await twoServers();
    await servers.asked(servers.key, 60, { server: 0 });
    const next = await servers.asked(servers.key, 60, { server: 1 });
    await servers.db.transaction().execute(async (tx) => {
      await sql`delete from waiters where ticket = (select min(ticket) from waiters)`.execute(tx);
      servers.end(servers.first);
      await until(async () => hasStarted(next));
    });
  });

  it("takes out of the queue who has left while the database was away", async () => {
    await using servers = await startedServers(await lend(), "2026-03-04T12:00:00Z", 2);
    const { orgId: org_id, keyId: actor } = await servers.key();
    const request = {
      org_id,
      actor,
      project: "shop",
      pipeline: "nightly",
      time_limit_seconds: 30,
      work: "{}",
    };
    await servers.db
      .insertInto("waiters")
      .values({ ...request, ticket: "ticket_0000000000000001", holder: "instance-2" })
      .execute();
    await servers.turn(250);
    await servers.quiet();
    assert.deepEqual(await servers.db.selectFrom("waiters").select("ticket").execute(), []);
  });

  it("hears nothing in what others send on its channel", async () => {
    await using servers = await startedServers(await lend(), "2026-03-04T12:00:00Z", 1);
    const { db } = servers;
    for (const payload of ["", "no JSON", "{}", '{"org":"x","kind":"unknown"}']) {
      await sql`select pg_notify(${channel}, ${payload})`.execute(db);
    }
    const key = await servers.key();
    assert(hasStarted(await servers.asked(key, 0)));
  });

  it("starts one run of an idempotency key that two servers get", async () => {
    await using servers = await twoServers();
    const same = { name: "nightly", idempotencyKey: "key-1" };
    const asked = [0, 1].map((server) => servers.ask(servers.key, 60, { ...same, server }));
    await servers.quiet();
    servers.end(servers.first);
    await servers.quiet();
    const ids = asked.map(({ outcome }) => outcome?.kind !== "refused" && outcome?.run.runId);
    const active = (await servers.rows()).filter(({ stopped_at }) => stopped_at === null);
    assert.deepEqual(
      [...new Set(ids)],
      active.map(({ id }) => id),
    );
  });

  it("gives it that place also when its server dies only after it was sent again", async () => {
    await using servers = await twoServers();
    const same = { name: "nightly", idempotencyKey: "key-1" };
    await servers.asked(servers.key, 60, { ...same, server: 0 });
    const later = await servers.asked(servers.key, 60, { server: 1 });
    const again = await servers.asked(servers.key, 60, { ...same, server: 1 });
    await servers.crash();
    await servers.turn(1_001);
    servers.end(servers.first);
    await servers.quiet();
    assert.deepEqual([again, later].map(hasStarted), [true, false]);
  });

  it("counts a request that was sent again once in the queue", async () => {
    await using servers = await twoServers();
    const same = { name: "nightly", idempotencyKey: "key-1" };
    await servers.asked(servers.key, 60, { ...same, server: 0 });
    await servers.asked(servers.key, 60, { name: "later", idempotencyKey: "key-2", server: 1 });
    await servers.asked(servers.key, 60, { ...same, server: 1 });
    const { orgId, keyId: actor } = servers.key;
    const { seenBy, waiting } = await servers.core.admission.queue(orgId);
    assert.deepEqual(seenBy({ actor, idempotencyKey: "key-2" }), { waiting: 2, place: 2 });
    assert.deepEqual(
      waiting.map(({ pipeline }) => pipeline),
      ["nightly", "later"],
    );
  });

  it("counts nobody in the queue whose server has died", async () => {
    await using servers = await twoServers();
    await servers.asked(servers.key, 60, { server: 0 });
    await servers.asked(servers.key, 60, { name: "later", idempotencyKey: "key-2", server: 1 });
    await servers.crash();
    await servers.turn(1_001);
    const { orgId, keyId: actor } = servers.key;
    const { seenBy, waiting } = await servers.core.admission.queue(orgId);
    assert.deepEqual(seenBy({ actor, idempotencyKey: "key-2" }), { waiting: 1, place: 1 });
    assert.deepEqual(
      waiting.map(({ pipeline }) => pipeline),
      ["later"],
    );
  });

  it("removes what a server has left a minute after its death, and keeps no dead one for alive when the clock is set back", async () => {
    await using servers = await twoServers();
    await servers.asked(servers.key, 120, { server: 0 });
    await servers.crash();
    await servers.set("2026-03-04T11:00:00Z");
    await servers.sweep();
    await servers.turn(1_001);
    const alive = await servers.asked(servers.key, 120, { server: 1 });
    servers.end(servers.first);
    await servers.quiet();
    assert(hasStarted(alive));
    const waiters = () => servers.db.selectFrom("waiters").select("ticket").execute();
    assert.equal((await waiters()).length, 1);
    await servers.turn(60_000);
    assert.equal((await waiters()).length, 0);
  });

  it("takes no server for dead whose pool is busy", async () => {
    await using lent = await lend();
    const core = await openSharedCore({ url: lent.url, instance: "busy", log: () => {} });
    const taken = await Promise.all(Array.from({ length: 16 }, () => core.pool.connect()));
    const aliveUntil = async () =>
      (await lent.db.selectFrom("servers").select("alive_until").executeTakeFirstOrThrow()).alive_until;
    const before = await aliveUntil();
    await until(async () => (await aliveUntil()) > before);
    for (const client of taken) client.release();
    await core.close();
    assert.ok((await aliveUntil()) <= Date.now(), "it has ended, and counts as alive");
  });

  it("answers a start while a hundred of another org wait for that org's lock", async () => {
    await using servers = await startedServers(await lend(), "2026-03-04T12:00:00Z", 1);
    // However long the other start takes here.
    const patient = "set lock_timeout = 0; set statement_timeout = 0";
    servers.core.pool.on("acquire", (client) => void client.query(patient));
    const [busy, other] = [await servers.key("busy"), await servers.key("other")];
    const { promise: locked, resolve: lock } = Promise.withResolvers<void>();
    const { promise: held, resolve: unlock } = Promise.withResolvers<void>();
    const locking = servers.db.transaction().execute(async (tx) => {
      await tx.selectFrom("orgs").select("id").where("id", "=", busy.orgId).forUpdate().execute();
      lock();
      await held;
    });
    await locked;
    const waiting = Array.from({ length: 100 }, () => servers.ask(busy, 0));
    const answered = servers.ask(other, 0);
    await until(async () => answered.outcome !== undefined);
    assert.ok(waiting.every(({ outcome }) => outcome === undefined));
    unlock();
    await locking;
    await servers.quiet();
    assert.equal(waiting.filter(hasStarted).length, 1);
    assert.equal(waiting.filter(({ outcome }) => outcome?.kind === "refused").length, 99);
  });

  it("goes on while a newer server adds a column to each table", async () => {
    await using servers = await twoServers();
    const { db, key } = servers;
    const use = async () => {
      const waiter = await servers.asked(key, 60, { server: 0, idempotencyKey: randomUUID() });
      const { orgId } = key;
      const [active] = (await listRuns(db, orgId, { status: "in-work", limit: 1 })).runs;
      await readRun(db, key, active?.runId ?? "");
      await listKeys(db, { orgId });
      await readOrg(db, key, servers.clock.now());
      await storedPipelines(db, parser).list(orgId, "shop");
      for (const job of [...servers.jobs.values()]) job.end();
      await servers.quiet();
      assert(hasStarted(waiter));
    };
    // So often that PostgreSQL has a plan of each statement.
    for (let count = 0; count < 10; count++) await use();
    const tables = await db.introspection.getTables();
    for (const { name } of tables)
      await sql`alter table ${sql.table(name)} add column added integer`.execute(db);
    try {
      await use();
    } finally {
      for (const { name } of tables) await sql`alter table ${sql.table(name)} drop column added`.execute(db);
    }
  });

  it("grants no second run to a request that was sent again while its server was suspended", async () => {
    await using servers = await twoServers();
    const same = { name: "nightly", idempotencyKey: "key-1" };
    await servers.asked(servers.key, 60, { ...same, server: 0 });
    await servers.crash();
    await servers.turn(1_001);
    servers.end(servers.first);
    await servers.quiet();
    const again = await servers.asked(servers.key, 60, same);
    const next = await servers.asked(servers.key, 60);
    // The server goes on, and its caller's connection is half-open.
    await servers.db
      .updateTable("servers")
      .set({ alive_until: servers.clock.now() + 1_000 })
      .execute();
    servers.end(again);
    await servers.quiet();
    assert.deepEqual([again, next].map(hasStarted), [true, true]);
  });

  it("looks after an org's waiters while another org's lock is taken", async () => {
    await using servers = await startedServers(await lend(), "2026-03-04T12:00:00Z", 2);
    const orgs = [await servers.key("locked"), await servers.key("other")] as const;
    const waiting: AskedStart[] = [];
    for (const key of orgs) {
      const first = await servers.asked(key, 0, { server: 1 });
      await servers.asked(key, 60, { server: 0 });
      waiting.push(await servers.asked(key, 60, { server: 1 }));
      assert(hasStarted(first));
    }
    await servers.crash();
    // Granted to the dead server's waiters.
    for (const job of [...servers.jobs.values()]) job.end();
    await servers.quiet();
    const { promise: locked, resolve: lock } = Promise.withResolvers<void>();
    const { promise: held, resolve: unlock } = Promise.withResolvers<void>();
    const locking = servers.db.transaction().execute(async (tx) => {
      await tx.selectFrom("orgs").select("id").where("id", "=", orgs[0].orgId).forUpdate().execute();
      lock();
      await held;
    });
    await locked;
    await servers.turn(1_001);
    await until(async () => waiting[1] !== undefined && hasStarted(waiting[1]));
    assert.deepEqual(waiting.map(hasStarted), [false, true]);
    unlock();
    await locking;
    await servers.quiet();
    assert.deepEqual(waiting.map(hasStarted), [true, true]);
  });

  it("leaves a run alone that is claimed while it is about to be taken back", async () => {
    await using servers = await twoServers();
    await servers.asked(servers.key, 60, { server: 0 });
    await servers.crash();
    servers.end(servers.first);
    await servers.quiet();
    const granted = (await servers.rows()).find(({ ticket }) => ticket !== null);
    assert(granted !== undefined);
    const now = servers.clock.now() + 1_001;
    await setDatabaseClock(servers.db, { at: now });
    const { promise: claimed, resolve: claim } = Promise.withResolvers<void>();
    const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
    const claiming = servers.db.transaction().execute(async (tx) => {
      const late = { ticket: null, lease_until: now + 15_000 };
      await tx.updateTable("runs").set(late).where("id", "=", granted.id).execute();
      claim();
      await goesOn;
    });
    await claimed;
    const ending = servers.db.transaction().execute((tx) => endOverdue(tx, granted.id, now));
    await until(() => isWaitingForLock(servers.db));
    goOn();
    await Promise.all([claiming, ending]);
    const after = (await servers.rows()).find(({ id }) => id === granted.id);
    assert.deepEqual([after?.status, after?.stopped_at], ["running", null]);
  });

  it("launches a run after its reply although the database is away for a minute", async () => {
    await using servers = await startedServers(await lend(), "2026-03-04T12:00:00Z", 1);
    const key = await servers.key();
    const asked = await servers.asked(key, 0, { isTold: false });
    assert(asked.outcome?.kind === "started");
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    const { db, core } = servers;
    let isAway = true;
    let attempts = 0;
    const runs = new RemoteRuns({
      ...{ db, clock, log: () => {}, release: () => assert.fail(), change: () => assert.fail() },
      bus: new EventBus(),
      writer: {
        close: async () => {},
        write(act) {
          attempts += 1;
          return isAway ? Promise.reject(new Error("ECONNREFUSED")) : core.writer.write(act);
        },
      },
    });
    runs.launch(asked.outcome.run);
    for (let count = 1; count < 120; count++) {
      await until(async () => clock.alarms === 1);
      assert.equal(attempts, count);
      clock.advance(500);
    }
    await until(async () => clock.alarms === 1);
    isAway = false;
    clock.advance(500);
    await runs.stopAll();
    const [row] = await servers.rows();
    assert.notEqual(row?.launched_at, null);
  });

  it("refuses a start that no runner could be told of, since its inputs are too large with their defaults", async () => {
    await using lent = await lend();
    await using servers = await startedServers(lent, "2026-03-04T12:00:00Z", 1);
    const { orgId } = await servers.key();
    const inputs = Array.from({ length: 70 }, (_, index) => `  i${index}: { default: *long }\n`).join("");
    const text = `resources: { sh: { type: cli } }\ninputs:\n  long: { default: &long ${"a".repeat(64_000)} }\n${inputs}steps: [{ use: sh, run: echo }]\n`;
    const definition = { path: "pipelines/hello.yaml", text };
    const pipelines = storedPipelines(lent.db, parser);
    await assert.rejects(pipelines.find(orgId, { pipeline: "hello", project: "shop", definition }), {
      type: "payload-too-large",
    });
    assert.deepEqual(await pipelines.list(orgId, undefined), []);
  });

  it("tells those who watch an org which runner has taken a run", async () => {
    await using servers = await startedServers(await lend(), "2026-03-04T12:00:00Z", 2);
    const { db } = servers;
    const key = await servers.key();
    const asked = await servers.asked(key, 0, { isTold: false });
    assert(asked.outcome?.kind === "started");
    const { run } = asked.outcome;
    await db.transaction().execute((tx) => launchRun(tx, run.runId));
    const launched = await lastChange(db, key.orgId);
    await servers.core.runs.take({ keyId: "key_one", runnerId: "rnr_one" }, { orgId: undefined, known: [] });
    await servers.quiet();
    const [changed] = await changedRuns(db, key.orgId, launched, 10);
    assert.equal(changed?.runId, run.runId);
    assert.equal((await readRun(db, key, run.runId))?.runner, "one");
  });

  it("grants the run of a caller that leaves to the next one, on another server", async () => {
    await using servers = await twoServers();
    const leaving = await servers.asked(servers.key, 60, { server: 0 });
    const next = await servers.asked(servers.key, 60, { server: 1 });
    servers.end(servers.first);
    leaving.leave();
    await servers.quiet();
    assert.deepEqual([leaving, next].map(hasStarted), [false, true]);
  });

  it("lets no run begin before the one whose slot it gets has ended, whatever a server's clock says", async () => {
    await using servers = await twoServers();
    const next = await servers.asked(servers.key, 60, { server: 0 });
    servers.clock.set("2026-03-04T13:00:00Z");
    servers.end(servers.first);
    await servers.quiet();
    assert(hasStarted(next));
    const [before, after] = await servers.rows();
    assert.equal(before?.stopped_at, after?.created_at);
    assert.equal(after?.created_at, Date.parse("2026-03-04T12:00:00Z"));
  });

  it("takes nobody for dead when the database was away for an hour: no run is lost, no waiter passed over", async () => {
    await using servers = await twoServers();
    const waiter = await servers.asked(servers.key, 120, { server: 0 });
    const later = await servers.asked(servers.key, 120, { server: 1 });
    const back = Date.parse("2026-03-04T13:00:00Z");
    await setDatabaseClock(servers.db, { at: back, started: back });
    await servers.sweep();
    assert.deepEqual(
      (await servers.rows()).map(({ status }) => status),
      ["running"],
    );
    servers.end(servers.first);
    await servers.quiet();
    assert.deepEqual([waiter, later].map(hasStarted), [true, false]);
    // A runner that has not come back for a lease's time is gone.
    await setDatabaseClock(servers.db, { at: back + 20_001 });
    await servers.sweep();
    const statuses = (await servers.rows()).map(({ status }) => status);
    assert.deepEqual(statuses.sort(), ["lost", "running", "succeeded"]);
    assert(hasStarted(later));
  });

  it("still takes the dead for dead when the database's clock was set back to before its start", async () => {
    await using servers = await twoServers();
    await servers.asked(servers.key, 120, { server: 0 });
    const alive = await servers.asked(servers.key, 120, { server: 1 });
    await setDatabaseClock(servers.db, { started: Date.parse("2026-03-04T14:00:00Z") });
    await servers.crash();
    await servers.turn(1_001);
    servers.end(servers.first);
    await servers.quiet();
    assert(hasStarted(alive));
    // Its runner says nothing.
    await setDatabaseClock(servers.db, { at: servers.clock.now() + 20_001 });
    await servers.sweep();
    const statuses = (await servers.rows()).map(({ status }) => status);
    assert.deepEqual(statuses.sort(), ["lost", "succeeded"]);
  });

  it("leaves the run of a caller who may have been told of it, when a request with the same key fails", async () => {
    await using servers = await startedServers(await lend(), "2026-03-04T12:00:00Z", 2);
    const same = { name: "nightly", idempotencyKey: "key-1", isTold: false };
    const key = await servers.key();
    await servers.asked(key, 0, { ...same, server: 1 });
    const { writer } = servers.core;
    const write = writer.write.bind(writer);
    writer.write = async (act) => {
      writer.write = write;
      return write(async (tx) => {
        await act(tx);
        throw new Error("the connection broke");
      });
    };
    const again = await servers.asked(key, 0, { ...same, server: 0 });
    assert.match(String(again.left), /the connection broke/);
    assert.equal((await servers.rows()).length, 1);
  });

  it("takes back no granted run in the seconds after the database was started, when nobody could reply", async () => {
    await using servers = await startedServers(await lend(), "2026-03-04T12:00:00Z", 2);
    await servers.asked(await servers.key(), 0, { isTold: false });
    const back = "2026-03-04T13:00:00Z";
    await setDatabaseClock(servers.db, { started: Date.parse(back) });
    await servers.set(back);
    const statuses = async () => {
      await servers.turn(1_000);
      await servers.quiet();
      return (await servers.rows()).map(({ status }) => status);
    };
    assert.deepEqual(await statuses(), ["running"]);
    await servers.turn(1_000);
    assert.deepEqual(await statuses(), ["lost"]);
  });
});

/** Whether anything in the database waits for a lock. */
async function isWaitingForLock(db: Database): Promise<boolean> {
  const { rows } = await sql`
    select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
    db,
  );
  return rows.length > 0;
}
