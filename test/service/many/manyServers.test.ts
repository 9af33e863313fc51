import assert from "node:assert/strict";
import type { EnterOutcome } from "../../../src/service/admission/waiter.ts";
import { postgresFolder } from "../../postgres/installPostgres.ts";
import { postgresForSuite } from "../../postgres/postgresForSuite.ts";
import { type Asked, SharedServers } from "./sharedServers.ts";
import { until } from "./until.ts";

describe("admission on many servers", function () {
  this.timeout(60_000);
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  const postgres = postgresForSuite(native);

  it("starts one run of an org, however many ask at once", async () => {
    await using servers = await SharedServers.start(postgres(), 3);
    const org = await servers.org();
    const asked = Array.from({ length: 45 }, (_, number) => servers.ask(number % 3, org, 0));
    const outcomes = await Promise.all(asked.map(({ outcome }) => outcome));
    assert.deepEqual(tally(outcomes), { started: 1, org: 44 });
  });

  it("starts no more than the day's runs, and then refuses whoever waits, on every server", async () => {
    await using servers = await SharedServers.start(postgres(), 3);
    const org = await servers.org({ runsPerDay: 5 });
    const asked = Array.from({ length: 24 }, (_, number) => servers.ask(number % 3, org, 60));
    await endAll(servers, org.orgId, asked);
    const outcomes = await Promise.all(asked.map(({ outcome }) => outcome));
    assert.deepEqual(tally(outcomes), { started: 5, "free-day": 19 });
  });

  it("serves whoever came first, whichever server holds the request", async () => {
    await using servers = await SharedServers.start(postgres(), 3);
    const org = await servers.org();
    const first = servers.ask(0, org, 0);
    await first.outcome;
    const asked: Asked[] = [];
    for (let number = 0; number < 9; number++) {
      asked.push(servers.ask(number % 3, org, 60));
      await until(async () => (await waiting(servers)) === number + 1);
    }
    const order: number[] = [];
    for (const [number, { outcome }] of asked.entries()) void outcome.then(() => order.push(number));
    await endAll(servers, org.orgId, [first, ...asked]);
    await Promise.all(asked.map(({ outcome }) => outcome));
    assert.deepEqual(order, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it("passes over the waiters of a server that has died, and takes back what it was granted", async () => {
    await using servers = await SharedServers.start(postgres(), 2);
    const org = await servers.org();
    const first = servers.ask(0, org, 0);
    await first.outcome;
    const dead = [servers.ask(0, org, 60), servers.ask(0, org, 60)];
    await until(async () => (await waiting(servers)) === 2);
    const alive = servers.ask(1, org, 60);
    await until(async () => (await waiting(servers)) === 3);
    await servers.kill(0);
    // Granted while nobody knows yet that the server is dead.
    await servers.end(1, org.orgId, await runOf(first));
    assert.equal((await alive.outcome).kind, "started");
    assert.deepEqual(
      dead.map(({ settled }) => settled),
      [undefined, undefined],
    );
    assert.equal((await activeRuns(servers)).length, 1);
  });

  it("gives a request that is sent again its place in the queue, when its server has died", async () => {
    await using servers = await SharedServers.start(postgres(), 2);
    const org = await servers.org();
    const first = servers.ask(1, org, 0);
    await first.outcome;
    servers.ask(0, org, 60, "key-1");
    await until(async () => (await waiting(servers)) === 1);
    const later = servers.ask(1, org, 60);
    await until(async () => (await waiting(servers)) === 2);
    await servers.kill(0);
    await until(async () => (await alive(servers)) === 1);
    const again = servers.ask(1, org, 60, "key-1");
    await until(async () => (await alive(servers)) === 2);
    await servers.end(1, org.orgId, await runOf(first));
    assert.equal((await again.outcome).kind, "started");
    assert.equal(later.settled, undefined);
  });

  it("starts one run of an idempotency key that two servers get", async () => {
    await using servers = await SharedServers.start(postgres(), 2);
    const org = await servers.org();
    const first = servers.ask(0, org, 0);
    await first.outcome;
    const same = [servers.ask(0, org, 60, "key-1"), servers.ask(1, org, 60, "key-1")];
    await until(async () => (await waiting(servers)) === 2);
    await servers.end(1, org.orgId, await runOf(first));
    const outcomes = await Promise.all(same.map(({ outcome }) => outcome));
    assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ["repeated", "started"]);
    assert.equal(new Set(outcomes.map((outcome) => outcome.kind !== "refused" && outcome.run.runId)).size, 1);
  });

  it("grants the run of a caller that leaves to the next one, on another server", async () => {
    await using servers = await SharedServers.start(postgres(), 2);
    const org = await servers.org();
    const first = servers.ask(0, org, 0);
    await first.outcome;
    const leaving = servers.ask(0, org, 60);
    leaving.outcome.catch(() => {});
    await until(async () => (await waiting(servers)) === 1);
    const next = servers.ask(1, org, 60);
    await until(async () => (await waiting(servers)) === 2);
    const ended = servers.end(1, org.orgId, await runOf(first));
    leaving.leave();
    await ended;
    assert.equal((await next.outcome).kind, "started");
  });
});

async function runOf({ outcome }: Asked) {
  const settled = await outcome;
  assert(settled.kind !== "refused");
  return settled.run;
}

/** Ends each run once it has started, on another server than it was asked for on, until all are settled. */
async function endAll(servers: SharedServers, orgId: string, asked: readonly Asked[]): Promise<void> {
  const ended = new Set<string>();
  await until(async () => {
    for (const { settled, server } of asked) {
      if (settled?.kind !== "started" || ended.has(settled.run.runId)) continue;
      ended.add(settled.run.runId);
      const active = await activeRuns(servers);
      assert(active.length <= 1, `${active.length} active runs`);
      await servers.end((server + 1) % servers.cores.length, orgId, settled.run);
    }
    return asked.every(({ settled }) => settled !== undefined);
  });
}

async function activeRuns(servers: SharedServers) {
  return servers.core(1).db.selectFrom("runs").select("id").where("stopped_at", "is", null).execute();
}

async function waiting(servers: SharedServers): Promise<number> {
  return (await servers.core(1).db.selectFrom("waiters").select("ticket").execute()).length;
}

async function alive(servers: SharedServers): Promise<number> {
  const { db, clock } = servers.core(1);
  const rows = await db.selectFrom("waiters").select("alive_until").execute();
  return rows.filter(({ alive_until }) => alive_until > clock.now()).length;
}

function tally(outcomes: readonly EnterOutcome[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) {
    const what = outcome.kind === "refused" ? outcome.refusal.scope : outcome.kind;
    counts[what] = (counts[what] ?? 0) + 1;
  }
  return counts;
}
