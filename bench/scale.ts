import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { sql } from "kysely";
import pg from "pg";
import { loopbackFetch } from "../src/client/service/loopbackFetch.ts";
import { everyOrgName } from "../src/contract/keys.ts";
import { systemClock } from "../src/machine/clock.ts";
import { RunnerApi } from "../src/team/runnerMachine/runnerApi.ts";
import { postgresFolder } from "../test/postgres/installPostgres.ts";
import { type StartedPostgres, startedPostgres } from "../test/postgres/startedPostgres.ts";
import type { Benchmark, Figure, Measured, NotMeasured, Row, Setting, Table, Unit } from "./benchmark.ts";
import { cancel, start, Team } from "./manyServers/team.ts";
import { checkModel } from "./scale/check.ts";
import { type Costs, type Lab, manyActive, measureCosts, runCost, streams, waiters } from "./scale/costs.ts";
import { assumed, type Day, simulateDay } from "./scale/day.ts";
import { Meter } from "./scale/meter.ts";
import { limits, needsOf, orgsAt, total } from "./scale/model.ts";
import { measures, nothing, sum, type Used, words } from "./scale/used.ts";

/** Orgs in the database, and orgs whose day is simulated. */
const orgs = 300;
const simulatedOrgs = 5_000;
const sizes = [1e3, 1e5, 1e6];

/** What each thing costs on PostgreSQL, and what so many orgs need by that. */
export const scale: Benchmark = {
  name: "scale",
  decides: "what a million orgs would need, and what breaks first",
  measure,
};

async function measure({ signal, say }: Setting): Promise<Measured | NotMeasured> {
  const native = postgresFolder();
  if (native === undefined || process.platform !== "linux") {
    return { kind: "not-measured", why: "it takes PostgreSQL from npm, and what Linux tells of processes" };
  }
  await using postgres = await startedPostgres(native, signal);
  const url = postgres.url({ user: `app:${encodeURIComponent(postgres.password)}` });
  await countStatements(postgres, url);
  const notifyCommits = await measureNotify(url, signal);
  await using team = await Team.make(url);
  const lab = await makeLab(team, postgres, signal);
  const costs = await measureCosts(lab, { signal, say });
  say("asking four servers…");
  const check = await checkModel(lab, costs, signal);
  say("simulating a day…");
  const day = simulateDay(simulatedOrgs);
  return {
    kind: "measured",
    rounds: 1,
    tables: [
      costTable(costs),
      {
        title: "beside them",
        rows: [
          row(`a server's connections to PostgreSQL at the end of a minute of ${streams} event streams`, [
            ["connections", costs.streamConnections, "count"],
          ]),
          row(`at the end of a minute of ${waiters} starts that wait`, [
            ["connections", costs.waitConnections, "count"],
          ]),
          row("the WAL of a run whose pages are all new to a checkpoint", [
            ["bytes", costs.runWalBytesAtMost, "bytes"],
          ]),
          row("commits with a NOTIFY, 16 connections, with fsync", [["rate", notifyCommits, "per s"]]),
        ],
      },
      check,
      dayTable(day),
      ...needTables(costs, day, notifyCommits),
    ],
  };
}

/** Images of pages are counted apart: how many there are depends on the last checkpoint. */
async function countStatements(postgres: StartedPostgres, url: string): Promise<void> {
  await inPostgres(url, [
    "alter system set shared_preload_libraries = 'pg_stat_statements'",
    "alter system set full_page_writes = off",
    // Nothing that PostgreSQL does by itself in between.
    "alter system set autovacuum = off",
    "alter system set checkpoint_timeout = '1h'",
    "alter system set max_wal_size = '8GB'",
  ]);
  await postgres.stop();
  await postgres.restart();
}

async function inPostgres(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

/** PostgreSQL lets one transaction that has rung commit at a time, and the next one when that is on the disk. */
async function measureNotify(url: string, signal: AbortSignal): Promise<number> {
  await inPostgres(url, [
    "create table rung (id int primary key, n int); insert into rung select n, 0 from generate_series(1, 16) n",
    "alter system set fsync = on",
    "select pg_reload_conf()",
  ]);
  const clients = Array.from({ length: 16 }, () => new pg.Client(url));
  await Promise.all(clients.map((client) => client.connect()));
  await clients[0]?.query("listen rung");
  let [commits, isOver] = [0, false];
  const ringing = clients.slice(1).map(async (client, at) => {
    for (; !isOver; commits++) {
      await client.query(`begin; update rung set n = n + 1 where id = ${at + 1}; notify rung; commit`);
    }
  });
  await pause(1_000, undefined, { signal });
  const [before, began] = [commits, performance.now()];
  await pause(5_000, undefined, { signal });
  const rate = (commits - before) / ((performance.now() - began) / 1000);
  isOver = true;
  await Promise.all(ringing);
  await Promise.all(clients.map((client) => client.end()));
  await inPostgres(url, ["alter system set fsync = off", "select pg_reload_conf()"]);
  return rate;
}

async function makeLab(team: Team, postgres: StartedPostgres, signal: AbortSignal): Promise<Lab> {
  await sql`create extension pg_stat_statements`.execute(team.db);
  const keys: Lab["orgs"][number][] = [];
  for (let org = 0; org < orgs; org++) keys.push(await team.key("member", `org ${org}`));
  const server = await team.server();
  await team.lift();
  const { secret } = await team.key("runner", everyOrgName);
  const apiOf = (address: string) =>
    new RunnerApi({
      ...{ baseUrl: new URL(`${address}/`), apiKey: secret },
      ...{ fetch: loopbackFetch(), clock: systemClock },
    });
  const api = apiOf(server);
  // As most starts, those that are measured bring a pipeline that is there already.
  for (const org of keys) await cancel(server, org.secret, await start(server, org.secret));
  const [postmaster = ""] = (await readFile(join(postgres.folder, "data/postmaster.pid"), "utf8")).split(
    "\n",
  );
  return {
    ...{ team, server, orgs: keys, api, apiOf },
    runnerId: await api.register("bench", signal),
    meter: new Meter(team.db, Number(postmaster), team.pids),
  };
}

function row(name: string, figures: readonly (readonly [string, number, Unit])[]): Row {
  return { name, figures: figures.map(([column, value, unit]) => ({ name: column, value, unit })) };
}

function figuresOf(used: Used): Figure[] {
  return measures.map((measure) => {
    const [name, unit] = words[measure];
    return { name, value: used[measure], unit };
  });
}

function costTable(costs: Costs): Table {
  const log = sum([2, costs.logPiece], [assumed.logBytes, costs.logByte]);
  const thousand = 1_000;
  const rows: readonly (readonly [string, Used])[] = [
    ["a start", costs.start],
    ["a runner takes it", costs.take],
    ["its messages: pipeline, a step, the end", costs.messages],
    ["all of that", runCost(costs)],
    ["a log of 100 KB in two pieces", log],
    [
      `a log of 100 KB in ${assumed.logPieces} pieces`,
      sum([1, log], [assumed.logPieces - 2, costs.logPiece]),
    ],
    ["a heartbeat", costs.heartbeat],
    ["a runner that finds nothing", costs.emptyTake],
    ["a start that waits for a minute", costs.waitedMinute],
    ["a minute of a server where any waits", sum([60, costs.waitingSecond])],
    ["a minute of an event stream", sum([60, costs.streamSecond])],
    ["what a stream tells of a run", costs.streamedRun],
    ["a minute of a server that nobody asks", sum([60, costs.idleSecond])],
    [`the same more, with ${manyActive} active runs`, sum([60 * manyActive, costs.idleSecondPerActive])],
    [`a runner that asks, more with ${manyActive} active runs`, sum([manyActive, costs.takePerActive])],
    [`${thousand} NOTIFYs that one more server hears`, sum([thousand, costs.heard])],
  ];
  return {
    title: "what each costs",
    rows: rows.map(([name, used]) => ({ name, figures: figuresOf(used) })),
  };
}

function dayTable({ busiest, runs, refused }: Day): Table {
  const per = 1_000;
  return {
    title: `a day of an org, of ${simulatedOrgs} simulated ones; the busiest hour of ${per} orgs`,
    rows: [
      row("an org", [
        ["runs a day", runs / simulatedOrgs, "count"],
        ["refused a day", refused / simulatedOrgs, "count"],
      ]),
      row(`${per} orgs`, [
        ["starts", per * busiest.startsPerSecond, "per s"],
        ["that wait", per * busiest.waitsPerSecond, "per s"],
        ["active runs", per * busiest.active, "count"],
        ["waiting", per * busiest.waiting, "count"],
        ["event streams", per * assumed.streams, "count"],
      ]),
    ],
  };
}

function needTables(costs: Costs, { busiest }: Day, notifyCommits: number): Table[] {
  // As if who looks for a run to take or to end found it by an index.
  const indexed = { ...costs, takePerActive: nothing, idleSecondPerActive: nothing };
  const needs = sizes.map((count) => ({ count, ...needsOf(costs, count, busiest, notifyCommits) }));
  const name = (count: number) => `${count.toLocaleString("en-US")} orgs`;
  const perRun = sum(
    [1, runCost(costs)],
    [assumed.logPieces, costs.logPiece],
    [assumed.logBytes, costs.logByte],
  );
  const limitNames = Object.keys(needs[0]?.shares ?? {}) as (keyof (typeof needs)[number]["shares"])[];
  const breaksAt = (of: Costs, limit: (typeof limitNames)[number]) =>
    orgsAt((count) => needsOf(of, count, busiest, notifyCommits).shares[limit]);
  const smallest = (of: Costs) => Math.min(...limitNames.map((limit) => breaksAt(of, limit)));
  return [
    {
      title: "one database for all: what the busiest hour needs",
      rows: needs.map(({ count, servers, used, walBytes }) => {
        const all = total(used);
        return row(name(count), [
          ["statements", all.statements, "per s"],
          ["servers", servers, "count"],
          ["connections", servers * limits.connectionsOfServer, "count"],
          ["PostgreSQL's processors", all.databaseMilliseconds / 1000, "count"],
          ["WAL a second", walBytes, "bytes"],
          ["NOTIFYs", all.notifications, "per s"],
          ["of them heard", all.notifications * servers, "per s"],
          ["event streams", count * assumed.streams, "count"],
          ["logs a day", count * assumed.runsPerDay * assumed.logBytes, "bytes"],
          [
            "WAL a day, at most",
            count * assumed.runsPerDay * (perRun.walBytes + costs.runWalBytesAtMost),
            "bytes",
          ],
        ]);
      }),
    },
    {
      title: "one database for all: what PostgreSQL's processors are used for",
      rows: needs.map(({ count, used }) =>
        row(
          name(count),
          Object.entries(used).map(
            ([cause, one]) => [cause, one.databaseMilliseconds / 1000, "count"] as const,
          ),
        ),
      ),
    },
    {
      title: "how many orgs until a limit of one database is reached",
      rows: limitNames.map((limit) =>
        row(limit, [
          ["as it is", breaksAt(costs, limit), "count"],
          ["where active runs are found by an index", breaksAt(indexed, limit), "count"],
        ]),
      ),
    },
    {
      title: "databases, each with its own servers, by org",
      rows: sizes.map((count) =>
        row(name(count), [
          ["as it is", Math.ceil(count / smallest(costs)), "count"],
          ["where active runs are found by an index", Math.ceil(count / smallest(indexed)), "count"],
        ]),
      ),
    },
  ];
}
