import { request } from "node:http";
import { sql } from "kysely";
import type { Row, Setting, Table } from "../benchmark.ts";
import { median } from "../median.ts";
import { cancel, start, Team } from "./team.ts";

const rounds = 200;
const warmUps = 50;
const histories = [
  { name: "10² runs", runs: 100 },
  { name: "10⁴ runs", runs: 10_000 },
  { name: "10⁶ runs", runs: 1_000_000 },
];

interface Served {
  readonly name: string;
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
    await fill(team, { orgId, keyId, runs });
    served.push({ name, url: await team.server(), secret, middle: runId(runs / 2) });
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
  return { title: "runs in one org's history, medians", rows };
}

/** How many runs one statement writes. */
const piece = 100_000;

/** Ended runs, spread over three years up to yesterday. Their ids are in the order of time. */
async function fill(
  team: Team,
  { orgId, keyId, runs }: { readonly orgId: string; readonly keyId: string; readonly runs: number },
): Promise<void> {
  const now = Date.now();
  // A server cuts a statement that takes longer than any of its own may.
  for (let first = 1; first <= runs; first += piece) {
    await sql`
      insert into runs (id, org_id, project, pipeline, actor, runner, status, day, slot, created_at, stopped_at,
        time_limit_seconds, files_removed_at, work, changed)
      select 'run_' || lpad(n::text, 26, '0'), ${orgId}, 'shop', 'hello', ${keyId}, 'bench', 'succeeded',
        to_char(to_timestamp(at / 1000) at time zone 'UTC', 'YYYY-MM-DD'), 1, at, at + 1000, 30, at + 1000, '', n
      from (
        select n, (${now}::bigint - 86400000 - (3::bigint * 365 * 86400000 * (${runs}::bigint - n)) / ${runs}::bigint) as at
        from generate_series(${first}::int, ${Math.min(first + piece - 1, runs)}::int) n
      ) numbered`.execute(team.db);
  }
  await sql`update orgs set sequence = ${runs} where id = ${orgId}`.execute(team.db);
  await sql`vacuum analyze`.execute(team.db);
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
): Promise<Row> {
  const times = served.map((): number[] => []);
  for (let round = -warmUps; round < rounds; round++) {
    signal.throwIfAborted();
    for (const [at, one] of served.entries()) {
      const taken = await ask(one);
      if (round >= 0) times[at]?.push(taken);
    }
  }
  const medians = times.map(median);
  const ratio = (medians.at(-1) ?? Number.NaN) / (medians[0] ?? Number.NaN);
  return {
    name,
    figures: [
      ...served.map((one, at) => ({ name: one.name, value: medians[at] ?? Number.NaN, unit: "ms" as const })),
      { name: "10⁶ / 10²", value: ratio, unit: "×", goal: { atMost: 1.2 } },
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
