import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { loopbackFetch } from "../src/client/service/loopbackFetch.ts";
import { systemClock } from "../src/contract/clock.ts";
import { everyOrg } from "../src/contract/roles.ts";
import { RunnerApi } from "../src/service/runner/machine/runnerApi.ts";
import { serveDatabase } from "../src/service/serveDatabase.ts";
import { idMaker } from "../src/service/store/ids.ts";
import { createKey } from "../src/service/store/keys.ts";
import { openPostgres } from "../src/service/store/postgres/openPostgres.ts";
import { postgresFolder } from "../test/postgres/installPostgres.ts";
import { StartedPostgres } from "../test/postgres/startedPostgres.ts";
import type { Benchmark, Measured, NotMeasured, Row, Setting } from "./benchmark.ts";
import { median, quantile } from "./median.ts";

const rounds = 300;
/** Before anything counts: code is compiled, connections are made. */
const warmUps = 30;

/** From a run's end, told to one server, to the reply 201 of who has waited for its slot on another one. */
export const manyServers: Benchmark = {
  name: "manyServers",
  decides: "whether a slot goes from one server to a waiter on another at once",
  measure,
};

async function measure({ signal }: Setting): Promise<Measured | NotMeasured> {
  const native = postgresFolder();
  if (native === undefined) return { kind: "not-measured", why: "there is no PostgreSQL from npm here" };
  await using postgres = await StartedPostgres.start(native, signal);
  const url = postgres.url({ user: `app:${encodeURIComponent(postgres.password)}` });
  const floor = await measureFloor(url, signal);
  const ours = await measureOurs(url, signal);
  return {
    kind: "measured",
    rounds,
    tables: [
      {
        title: "hand-over from a run's end on one server to the reply on another",
        rows: [
          row("bare pg: one transaction with NOTIFY, heard by another connection", floor, floor),
          row("the service: the runner's last message, and the held start's 201", ours, floor),
        ],
      },
    ],
  };
}

/** The least that a hand-over takes: lock a row, write two, and ring in the same commit. */
async function measureFloor(url: string, signal: AbortSignal): Promise<number[]> {
  const [writer, listener] = [new pg.Client(url), new pg.Client(url)];
  await Promise.all([writer.connect(), listener.connect()]);
  await writer.query("create table floor (id int primary key, at bigint)");
  await writer.query("insert into floor values (1, 0), (2, 0)");
  await listener.query("listen floor");
  const taken: number[] = [];
  for (let round = -warmUps; round < rounds; round++) {
    signal.throwIfAborted();
    const began = performance.now();
    const heard = once(listener, "notification");
    await writer.query("begin");
    await writer.query("select 1 from floor where id = 1 for update");
    await writer.query("update floor set at = $1 where id = 1", [round]);
    await writer.query("update floor set at = $1 where id = 2", [round]);
    await writer.query("select pg_notify('floor', 'x')");
    await writer.query("commit");
    await heard;
    if (round >= 0) taken.push(performance.now() - began);
  }
  await Promise.all([writer.end(), listener.end()]);
  return taken;
}

async function measureOurs(url: string, signal: AbortSignal): Promise<number[]> {
  const options = { url, host: "127.0.0.1", port: 0, retentionDays: 30, log: () => {} };
  const [one, other] = [await serveDatabase(options), await serveDatabase(options)];
  const { db } = await openPostgres(url, () => {});
  const deps = { now: Date.now, makeId: idMaker(Date.now) };
  const member = await createKey(db, { orgName: "team", role: "member" }, deps);
  const runner = await createKey(db, { orgName: everyOrg, role: "runner" }, deps);
  await db.updateTable("orgs").set({ runs_per_day: 1_000_000 }).execute();
  const api = new RunnerApi({
    ...{ baseUrl: new URL(`${one.url}/`), apiKey: runner.secret },
    ...{ fetch: loopbackFetch(), clock: systemClock },
  });
  const start = async () => {
    const text = "resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: echo hello\n";
    const definition = { path: "pipelines/hello.yaml", text };
    const reply = await fetch(`${other.url}/api/runs`, {
      method: "POST",
      headers: { "x-api-key": member.secret, prefer: "wait=30", "idempotency-key": randomUUID() },
      body: JSON.stringify({ pipeline: "hello", project: "shop", definition }),
      signal,
    });
    if (reply.status !== 201) throw new Error(await reply.text());
    await reply.text();
    return performance.now();
  };
  try {
    const runnerId = await api.register({ label: "bench", slots: 1 }, signal);
    await start();
    const taken: number[] = [];
    for (let round = -warmUps; round < rounds; round++) {
      const work = await api.work(runnerId, [], 30, signal);
      if (work === undefined) throw new Error("there is no work");
      const next = start();
      while ((await db.selectFrom("waiters").select("ticket").execute()).length === 0) await pause(2);
      const began = performance.now();
      const messages = [{ kind: "ended", end: { kind: "succeeded" } }] as const;
      await api.sendMessages({ runId: work.runId, runnerId }, 1, [...messages], signal);
      const at = await next;
      if (round >= 0) taken.push(at - began);
    }
    return taken;
  } finally {
    await db.destroy();
    await Promise.all([one.stop(), other.stop()]);
  }
}

function row(name: string, taken: readonly number[], floor: readonly number[]): Row {
  const p99 = quantile(taken, 0.99);
  const isFloor = taken === floor;
  return {
    name,
    figures: [
      { name: "p50", value: median(taken), unit: "ms" },
      { name: "p99", value: p99, unit: "ms" },
      {
        name: "p99, ratio",
        value: p99 / quantile(floor, 0.99),
        unit: "×",
        beside: "bare pg",
        ...(isFloor ? {} : { goal: { atMost: 2 } }),
      },
    ],
  };
}
