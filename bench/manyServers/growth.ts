import { randomUUID } from "node:crypto";
import { request } from "node:http";
import { sql } from "kysely";
import { PostgresWriter } from "../../src/team/store/postgresWriter.ts";
import { sweepStored } from "../../src/team/store/storedRetention.ts";
import type { Row, Setting, Table } from "../benchmark.ts";
import { median } from "../median.ts";
import { cancel, start, Team } from "./team.ts";

const rounds = 200;
const warmUps = 50;
const histories = [
  { name: "10² runs", runs: 100 },
  { name: "10⁴ runs", runs: 10_000 },
  { name: "10⁷ runs", runs: 10_000_000 },
];

interface Served {
  readonly name: string;
  readonly team: Team;
  readonly org: Org;
  readonly url: string;
  readonly secret: string;
  readonly middle: string;
}

/** What a server takes for an answer, with more and more ended runs of its org in the database. */
export async function measureGrowth(url: string, { signal, say }: Setting): Promise<Table> {
  await using stack = new AsyncDisposableStack();
  const served: Served[] = [];
  for (const { name, runs } of histories) {
    say(`filling ${name}…`);
    const team = stack.use(await Team.make(url));
    const { orgId, keyId, secret } = await team.key("member");
    await team.lift();
    await fill(team, { orgId, keyId }, runs);
    served.push({
      name,
      team,
      org: { orgId, keyId },
      url: await team.server(),
      secret,
      middle: runId(runs / 2),
    });
  }
  const rows: Row[] = [];
  for (const [name, path] of [
    ["GET /api/org", () => "/api/org"],
    ["the newest runs", () => "/api/runs"],
    ["a page in the middle", ({ middle }: Served) => `/api/runs?after=${middle}`],
    ["one run", ({ middle }: Served) => `/api/runs/${middle}`],
    ["active runs", () => "/api/runs?status=in-work"],
  ] as const) {
    rows.push(await compare(name, served, signal, (one) => get(`${one.url}${path(one)}`, one.secret, 200)));
  }
  rows.push(
    await compare("a start", served, signal, async (one) => {
      const began = performance.now();
      const granted = await start(one.url, one.secret);
      const taken = performance.now() - began;
      await cancel(one.url, one.secret, granted);
      return taken;
    }),
  );
  rows.push(
    await compare(`a sweep of ${sweptRuns} runs' files`, served, signal, sweep, { rounds: 30, warmUps: 5 }),
  );
  return { title: "runs in one org's history, medians", rows };
}

interface Org {
  readonly orgId: string;
  readonly keyId: string;
}

const runColumns = `id, org_id, project, pipeline, actor, runner, status, day, slot, created_at, stopped_at,
  time_limit_seconds, files_removed_at, work, changed`;

/**
 * Ended runs, spread over three years up to yesterday. Their ids are in the order of time. The indexes are made after the
 * rows, as they were: sorted at once, they take a fraction of the time.
 */
async function fill(team: Team, { orgId, keyId }: Org, runs: number): Promise<void> {
  const { rows: indexes } = await sql<{ name: string; definition: string }>`
    select indexname as name, indexdef as definition from pg_indexes
    where tablename = 'runs' and indexname <> 'runs_pkey'`.execute(team.db);
  await team.patiently([
    ...indexes.map(({ name }) => [`drop index ${name}`] as const),
    [
      `insert into runs (${runColumns})
        select 'run_' || lpad(n::text, 26, '0'), $1, 'shop', 'hello', $2, 'bench', 'succeeded',
          to_char(to_timestamp(at / 1000) at time zone 'UTC', 'YYYY-MM-DD'), 1, at, at + 1000, 30, at + 1000, '', n
        from (
          select n, ($3::bigint - 86400000 - (3::bigint * 365 * 86400000 * ($4::bigint - n)) / $4::bigint) as at
          from generate_series(1, $4::int) n
        ) numbered`,
      [orgId, keyId, Date.now(), runs],
    ],
    ["set maintenance_work_mem = '1GB'"],
    ...indexes.map(({ definition }) => [definition] as const),
    ["update orgs set sequence = $1 where id = $2", [runs, orgId]],
    ["vacuum analyze"],
  ]);
}

/** Ended long ago, with a log each; what a sweep does at once. */
const sweptRuns = 20;

/** @returns what a server takes to remove the logs of some runs, in milliseconds, with whatever else is past its time. */
async function sweep({ team: { db }, org: { orgId, keyId } }: Served): Promise<number> {
  const days = 30;
  const at = Date.now() - (days + 1) * 86_400_000;
  const prefix = `run_0swept_${randomUUID()}_`;
  await sql`insert into runs (${sql.raw(runColumns)})
    select ${prefix} || n, ${orgId}, 'shop', 'hello', ${keyId}, 'bench', 'succeeded', '2026-01-01', 1, ${at}, ${at}, 30, null,
      '', 0
    from generate_series(1, ${sweptRuns}::int) n`.execute(db);
  await sql`insert into log_chunks (run_id, first, lines)
    select ${prefix} || n, 1, repeat('line ', 200) from generate_series(1, ${sweptRuns}::int) n`.execute(db);
  const began = performance.now();
  const swept = await sweepStored(new PostgresWriter(db), days, Date.now());
  const taken = performance.now() - began;
  if (swept !== sweptRuns) throw new Error(`the files of ${swept} runs were removed`);
  return taken;
}

function runId(n: number): string {
  return `run_${String(n).padStart(26, "0")}`;
}

/** @param ask resolves to what it took, in milliseconds. */
async function compare(
  name: string,
  served: readonly Served[],
  signal: AbortSignal,
  ask: (one: Served) => Promise<number>,
  count = { rounds, warmUps },
): Promise<Row> {
  const times = served.map((): number[] => []);
  for (let round = -count.warmUps; round < count.rounds; round++) {
    signal.throwIfAborted();
    for (const [at, one] of served.entries()) {
      const taken = await ask(one);
      if (round >= 0) times[at]?.push(taken);
    }
  }
  const medians = times.map(median);
  const ratio = (medians.at(-1) ?? Number.NaN) / (medians[1] ?? Number.NaN);
  return {
    name,
    figures: [
      ...served.map((one, at) => ({ name: one.name, value: medians[at] ?? Number.NaN, unit: "ms" as const })),
      { name: "10⁷ / 10⁴", value: ratio, unit: "×", goal: { atMost: 1.2 } },
    ],
  };
}

function get(url: string, secret: string, status: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const asked = request(url, { headers: { "x-api-key": secret } }, (reply) => {
      reply.resume().once("end", () => {
        if (reply.statusCode === status) resolve(performance.now() - began);
        else reject(new Error(`${url} was answered with ${reply.statusCode}`));
      });
    });
    asked.once("error", reject);
    asked.end();
  });
}
