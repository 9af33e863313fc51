import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { sql } from "kysely";
import pg from "pg";
import { loopbackFetch } from "../src/client/service/loopbackFetch.ts";
import { systemClock } from "../src/machine/clock.ts";
import { RunnerApi } from "../src/team/runnerMachine/runnerApi.ts";
import { postgresFolder } from "../test/postgres/installPostgres.ts";
import { startedPostgres } from "../test/postgres/startedPostgres.ts";
import { startedRunner } from "../test/service/startedProgram.ts";
import type { Benchmark, Measured, NotMeasured, Row, Setting } from "./benchmark.ts";
import { measureGrowth } from "./manyServers/growth.ts";
import { cancel, start, Team } from "./manyServers/team.ts";
import { median, quantile } from "./median.ts";

const rounds = 300;
/** Before anything counts: code is compiled, connections are made. */
const warmUps = 30;

/** The service on PostgreSQL: what passes between its servers, and to its runners. */
export const manyServers: Benchmark = {
  name: "manyServers",
  decides: "whether many servers hand on slots and work at once, and stay as fast with years of history",
  measure,
};

async function measure({ signal, say }: Setting): Promise<Measured | NotMeasured> {
  const native = postgresFolder();
  if (native === undefined) return { kind: "not-measured", why: "there is no PostgreSQL from npm here" };
  await using postgres = await startedPostgres(native, signal);
  const url = postgres.url({ user: `app:${encodeURIComponent(postgres.password)}` });
  const floor = await measureFloor(url, signal);
  say("handing over…");
  const ours = await measureHandOver(url, signal);
  say("starting real runs…");
  const begun = await measureBeginning(url, signal);
  say("asking one, two and four servers…");
  const rates = await measureRates(url, signal);
  say("killing runners…");
  const lost = await measureLost(url, signal);
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
      {
        title:
          "from the reply to a start until its first step runs, on a runner that holds a request for work",
        rows: [{ name: "the service", figures: spread(begun) }],
      },
      { title: "starts, each cancelled again: 32 clients, an org each", rows: rates },
      {
        title: "from a runner's kill -9 until its run is lost and the slot free",
        rows: [{ name: "the service", figures: spread(lost) }],
      },
      await measureGrowth(url, { signal, say }),
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

async function measureHandOver(url: string, signal: AbortSignal): Promise<number[]> {
  await using team = await Team.make(url);
  const [one, other] = [await team.server(), await team.server()];
  const [member, runner] = [await team.key("member"), await team.key("runner")];
  await team.lift();
  const api = new RunnerApi({
    ...{ baseUrl: new URL(`${one}/`), apiKey: runner.secret },
    ...{ fetch: loopbackFetch(), clock: systemClock },
  });
  const runnerId = await api.register("bench", signal);
  await start(other, member.secret);
  const taken: number[] = [];
  for (let round = -warmUps; round < rounds; round++) {
    const work = await api.work(runnerId, [], 30, signal);
    if (work === undefined) throw new Error("there is no work");
    const next = start(other, member.secret, 30).then(() => performance.now());
    while ((await team.db.selectFrom("waiters").select("ticket").execute()).length === 0) await pause(2);
    const began = performance.now();
    const messages = [{ kind: "ended", end: { kind: "succeeded" } }] as const;
    await api.sendMessages({ runId: work.runId, runnerId }, 1, [...messages], signal);
    const at = await next;
    if (round >= 0) taken.push(at - began);
  }
  return taken;
}

/** The step's beginning is what the runner has written, by the clock of the same machine. */
async function measureBeginning(url: string, signal: AbortSignal): Promise<number[]> {
  await using team = await Team.make(url);
  const server = await team.server();
  const [member, key] = [await team.key("member"), await team.key("runner")];
  await team.lift();
  await using _runner = await startedRunner(server, key.secret);
  const taken: number[] = [];
  for (let round = -5; round < 60; round++) {
    // As people start runs: the runner has a process ready again.
    await pause(500, undefined, { signal });
    const runId = await start(server, member.secret, 30);
    const repliedAt = Date.now();
    const ended = () =>
      team.db.selectFrom("runs").select("stopped_at").where("id", "=", runId).executeTakeFirst();
    while (((await ended())?.stopped_at ?? null) === null) await pause(5);
    const { started_at } = await team.db
      .selectFrom("steps")
      .select("started_at")
      .where("run_id", "=", runId)
      .executeTakeFirstOrThrow();
    if (round >= 0) taken.push((started_at ?? Number.NaN) - repliedAt);
  }
  return taken;
}

async function measureRates(url: string, signal: AbortSignal): Promise<Row[]> {
  await using team = await Team.make(url);
  const servers: string[] = [];
  const keys: string[] = [];
  for (let client = 0; client < 32; client++) keys.push((await team.key("member", `org ${client}`)).secret);
  await team.lift();
  const rows: Row[] = [];
  for (const count of [1, 2, 4]) {
    while (servers.length < count) servers.push(await team.server());
    let [starts, isOver] = [0, false];
    const clients = keys.map(async (secret, client) => {
      const server = servers[client % count] ?? "";
      while (!isOver) {
        await cancel(server, secret, await start(server, secret));
        starts += 1;
      }
    });
    await pause(1_000, undefined, { signal });
    const [began, before] = [performance.now(), starts];
    await pause(5_000, undefined, { signal });
    const rate = (starts - before) / ((performance.now() - began) / 1000);
    isOver = true;
    await Promise.all(clients);
    rows.push({ name: `${count} of them`, figures: [{ name: "starts", value: rate, unit: "per s" }] });
  }
  return rows;
}

async function measureLost(url: string, signal: AbortSignal): Promise<number[]> {
  await using team = await Team.make(url);
  const server = await team.server();
  const killed = Array.from({ length: 6 }, async (_, at) => {
    const { secret } = await team.key("member", `org ${at}`);
    const key = await team.key("runner", `org ${at}`);
    await using runner = await startedRunner(server, key.secret);
    // Spread over the time between two heartbeats.
    await pause(at * 400, undefined, { signal });
    const runId = await start(server, secret, 0, "sleep 60");
    const of = (id: string) =>
      sql<{ is_taken: boolean; status: string }>`
      select holder is not null and launched_at is not null as is_taken, status from runs where id = ${id}`.execute(
        team.db,
      );
    while ((await of(runId)).rows[0]?.is_taken !== true) await pause(20, undefined, { signal });
    runner.kill("SIGKILL");
    const began = performance.now();
    while ((await of(runId)).rows[0]?.status === "running") await pause(20, undefined, { signal });
    return performance.now() - began;
  });
  return await Promise.all(killed);
}

function spread(taken: readonly number[]): Row["figures"] {
  return [
    { name: "p50", value: median(taken), unit: "ms" },
    { name: "p90", value: quantile(taken, 0.9), unit: "ms" },
    { name: "most", value: Math.max(...taken), unit: "ms" },
  ];
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
