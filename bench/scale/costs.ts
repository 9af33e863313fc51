// What each thing that people and runners do costs the service on PostgreSQL, measured one after the other.
import { createHash, randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { sql } from "kysely";
import pg from "pg";
import type { RunnerMessage } from "../../src/contract/runners.ts";
import type { RunnerApi } from "../../src/team/runnerMachine/runnerApi.ts";
import type { Setting } from "../benchmark.ts";
import { start, type Team } from "../manyServers/team.ts";
import type { Meter } from "./meter.ts";
import { nothing, sum, type Used } from "./used.ts";

/** What one of each uses. */
export interface Costs {
  /** A server in a second in which nobody asks for anything, and what it uses more for each active run of the database. */
  readonly idleSecond: Used;
  readonly idleSecondPerActive: Used;
  /** From the request until the run is offered to the runners. */
  readonly start: Used;
  /** A runner's request for work that gives a run, one that gives nothing, and what each uses more for each active run. */
  readonly take: Used;
  readonly emptyTake: Used;
  readonly takePerActive: Used;
  /** What a runner says of a run of one step, without its log. */
  readonly messages: Used;
  readonly logPiece: Used;
  readonly logByte: Used;
  readonly heartbeat: Used;
  /** A second in which a server has somebody who waits, whoever it is; and a start that waits for a minute. */
  readonly waitingSecond: Used;
  readonly waitedMinute: Used;
  /** An open event stream in a second, and what it uses more for each run of its org. */
  readonly streamSecond: Used;
  readonly streamedRun: Used;
  /** How many a server has after a minute in which streams are open, or starts wait. */
  readonly streamConnections: number;
  readonly waitConnections: number;
  /** What one more server uses to hear a notification. */
  readonly heard: Used;
  /** The WAL of a run whose pages are all new to a checkpoint. */
  readonly runWalBytesAtMost: number;
}

/** What the measurements are made with. */
export interface Lab {
  readonly team: Team;
  readonly server: string;
  readonly meter: Meter;
  readonly orgs: readonly { readonly orgId: string; readonly secret: string }[];
  readonly api: RunnerApi;
  /** Of another server. */
  readonly apiOf: (server: string) => RunnerApi;
  readonly runnerId: string;
}

/** How often what takes a moment is done. */
const times = 300;
export const streams = 200;
export const waiters = 50;
/** Of held runs that nobody touches. */
export const manyActive = 10_000;
const minute = 60;

export async function measureCosts(lab: Lab, setting: Setting): Promise<Costs> {
  const { meter, team } = lab;
  const { signal, say } = setting;
  const restSeconds = async (seconds: number) => {
    const { seconds: passed, used } = await meter.during(() => pause(seconds * 1000, undefined, { signal }));
    return sum([1 / passed, used]);
  };
  say("warming up…");
  for (const { secret } of lab.orgs) await wholeRun(lab, secret, signal);
  say("a server that nobody asks…");
  const idleSecond = await restSeconds(minute / 2);
  /** What one of `count` uses beside what the server would have used anyway. */
  const one = async (count: number, act: () => Promise<unknown>, seconds = idleSecond) => {
    const { seconds: passed, used } = await meter.during(act);
    return sum([1 / count, used], [-passed / count, seconds]);
  };
  const each = (act: (secret: string, at: number) => Promise<unknown>) =>
    one(times, async () => {
      for (const [at, { secret }] of lab.orgs.slice(0, times).entries()) await act(secret, at);
    });
  say("runs…");
  const held: { readonly runId: string; readonly runnerId: string }[] = [];
  const runners: string[] = [];
  while (runners.length < times) runners.push(await lab.api.register("bench", signal));
  const empty = () => lab.api.work(lab.runnerId, [], 0, signal);
  const emptyTake = await each(empty);
  const started = await each((secret) => start(lab.server, secret));
  const take = await one(times, async () => {
    for (const runnerId of runners) {
      const work = await lab.api.work(runnerId, [], 5, signal);
      if (work !== undefined) held.push({ runnerId, runId: work.runId });
    }
  });
  const ofHeld = (act: (run: (typeof held)[number], at: number) => Promise<unknown>) =>
    one(held.length, async () => {
      for (const [at, run] of held.entries()) await act(run, at);
    });
  const tell = (run: (typeof held)[number], first: number, messages: readonly RunnerMessage[]) =>
    lab.api.sendMessages(run, first, messages, signal);
  await keepForGood(team);
  const heartbeat = await ofHeld(({ runId, runnerId }) => lab.api.heartbeat(runnerId, [runId], 0, signal));
  await keepForGood(team);
  const beginning = await ofHeld((run) => tell(run, 1, messagesOfRun.slice(0, 2)));
  // Two pieces of 50 KB, and then, of a few runs, fifty of one line.
  const longPieces = await ofHeld(async (run) => {
    await tell(run, 3, output(512));
    await tell(run, 515, output(512));
  });
  const few = held.slice(0, 30);
  const logPiece = await one(few.length * 50, async () => {
    for (const run of few) for (let piece = 0; piece < 50; piece++) await tell(run, 1_027 + piece, output(1));
  });
  const logByte = sum([1 / (1024 * 100), longPieces], [-2 / (1024 * 100), logPiece]);
  const end = await ofHeld(async (run, at) => {
    const first = at < few.length ? 1_077 : 1_027;
    await tell(run, first, messagesOfRun.slice(2, 3));
    await tell(run, first + 1, messagesOfRun.slice(3));
  });
  say("event streams…");
  const streaming = await measureStreams(lab, { one, signal });
  say("starts that wait…");
  const waiting = await measureWaits(lab, { one, signal });
  say("notifications…");
  const heard = await measureHeard(lab, one);
  const runWalBytesAtMost = await measureFirstTouch(lab, signal);
  say(`with ${manyActive} active runs…`);
  await holdRuns(team);
  const idleWithMany = await restSeconds(minute / 2);
  const takeWithMany = await one(
    times,
    async () => {
      for (let at = 0; at < times; at++) await empty();
    },
    idleWithMany,
  );
  return {
    idleSecond,
    idleSecondPerActive: sum([1 / manyActive, idleWithMany], [-1 / manyActive, idleSecond]),
    start: started,
    take,
    emptyTake,
    takePerActive: sum([1 / manyActive, takeWithMany], [-1 / manyActive, emptyTake]),
    messages: sum([1, beginning], [1, end]),
    logPiece,
    logByte,
    heartbeat,
    ...waiting,
    ...streaming,
    heard,
    runWalBytesAtMost,
  };
}

type One = (count: number, act: () => Promise<unknown>) => Promise<Used>;

interface Measuring {
  readonly one: One;
  readonly signal: AbortSignal;
}

async function measureStreams(
  lab: Lab,
  { one, signal }: Measuring,
): Promise<Pick<Costs, "streamSecond" | "streamedRun" | "streamConnections">> {
  const orgs = lab.orgs.slice(0, streams);
  const everyRun = async () => {
    for (const { secret } of orgs) await wholeRun(lab, secret, signal);
  };
  const alone = await one(streams, everyRun);
  await using open = new AsyncDisposableStack();
  for (const { secret } of orgs) open.use(await openEvents(lab.server, secret));
  const streamMinute = await one(streams, () => pause(minute * 1000, undefined, { signal }));
  const streamConnections = await connectionsNow(lab.team);
  const streamSecond = sum([1 / minute, streamMinute]);
  const began = performance.now();
  const streamed = await one(streams, everyRun);
  const seconds = (performance.now() - began) / 1000;
  return {
    streamSecond,
    streamedRun: sum([1, streamed], [-1, alone], [-seconds, streamSecond]),
    streamConnections,
  };
}

/** What the servers hold, beside the benchmark's own. It isn't counted as a statement, by the word in it. */
async function connectionsNow({ db }: Team): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count /* pg_stat_statements */ from pg_stat_activity
    where datname = current_database() and application_name like 'pipeline-runs%' and pid <> pg_backend_pid()`.execute(
    db,
  );
  return rows[0]?.count ?? Number.NaN;
}

/** A reader of an org's events that lets them pass. */
export async function openEvents(server: string, secret: string): Promise<AsyncDisposable> {
  const leaving = new AbortController();
  const reply = await fetch(`${server}/api/events`, {
    headers: { accept: "text/event-stream", "x-api-key": secret },
    signal: leaving.signal,
  });
  const read = reply.body?.pipeTo(new WritableStream(), { signal: leaving.signal }).catch(() => {});
  return {
    async [Symbol.asyncDispose]() {
      leaving.abort();
      await read;
    },
  };
}

async function measureWaits(
  lab: Lab,
  { one, signal }: Measuring,
): Promise<Pick<Costs, "waitingSecond" | "waitedMinute" | "waitConnections">> {
  const orgs = lab.orgs.slice(0, waiters);
  for (const { secret } of orgs) await start(lab.server, secret);
  const wait = (count: number) =>
    one(1, () =>
      Promise.all(orgs.slice(0, count).map(({ secret }) => refusedStart(lab.server, secret, minute, signal))),
    );
  let waitConnections = 0;
  const look = async () => {
    await pause(minute * 750, undefined, { signal });
    waitConnections = await connectionsNow(lab.team);
  };
  const first = await wait(1);
  const [all] = await Promise.all([wait(waiters), look()]);
  await endAll(lab, signal);
  const waitedMinute = sum([1 / (waiters - 1), all], [-1 / (waiters - 1), first]);
  return {
    waitedMinute,
    waitConnections,
    waitingSecond: sum([1 / minute, first], [-1 / minute, waitedMinute]),
  };
}

/** A start that waits for so long and gets no slot. */
export async function refusedStart(
  server: string,
  secret: string,
  seconds: number,
  signal: AbortSignal,
): Promise<void> {
  const text = "resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: echo hello\n";
  const definition = { path: "pipelines/hello.yaml", text };
  const reply = await fetch(`${server}/api/runs`, {
    method: "POST",
    headers: { "x-api-key": secret, prefer: `wait=${seconds}`, "idempotency-key": randomUUID() },
    body: JSON.stringify({ pipeline: "hello", project: "shop", definition }),
    signal,
  });
  await reply.text();
  if (reply.status !== 429)
    throw new Error(`a start that should be refused was answered with ${reply.status}`);
}

/** Runs whatever waits for a runner. */
async function endAll(lab: Lab, signal: AbortSignal): Promise<void> {
  while (await oneWork(lab, signal)) signal.throwIfAborted();
}

/** Of another org than any that is followed, as nearly all are that a server hears. */
async function measureHeard({ team }: Lab, one: One): Promise<Used> {
  const count = 20_000;
  const payload = JSON.stringify({ org: "org_elsewhere", kind: "run", runId: `run_${"0".repeat(26)}` });
  const ring = () =>
    one(count, async () => {
      for (let at = 0; at < count / 100; at++) {
        await sql`
          select pg_notify('pipeline_runs', ${payload} || n) from generate_series(1, 100) n`.execute(team.db);
        await pause(5);
      }
    });
  const { serverMilliseconds, databaseMilliseconds: alone } = await ring();
  // What a server's connection costs the database, others cost it, too.
  const listeners = Array.from({ length: 8 }, () => new pg.Client(team.url));
  for (const listener of listeners) {
    await listener.connect();
    await listener.query("listen pipeline_runs");
  }
  const { databaseMilliseconds: all } = await ring();
  await Promise.all(listeners.map((listener) => listener.end()));
  return { ...nothing, serverMilliseconds, databaseMilliseconds: (all - alone) / listeners.length };
}

/** With images of the pages, as after each checkpoint. */
async function measureFirstTouch(lab: Lab, signal: AbortSignal): Promise<number> {
  const { meter, team, orgs } = lab;
  const setImages = async (value: string) => {
    await sql`alter system set full_page_writes = ${sql.raw(value)}`.execute(team.db);
    await sql`select pg_reload_conf()`.execute(team.db);
    await sql`checkpoint`.execute(team.db);
  };
  await setImages("on");
  let bytes = 0;
  const rounds = 5;
  for (const { secret } of orgs.slice(0, rounds)) {
    await sql`checkpoint`.execute(team.db);
    bytes += (await meter.during(() => wholeRun(lab, secret, signal))).used.walBytes;
  }
  await setImages("off");
  return bytes / rounds;
}

/** On a busy machine all of them take longer than a lease lasts. Without an end, a lease is never over. */
async function keepForGood({ db }: Team): Promise<void> {
  await db.updateTable("runs").set({ lease_until: null }).where("stopped_at", "is", null).execute();
}

/** Ended runs, as a database has them, and active ones that some runner holds for good. */
async function holdRuns(team: Team): Promise<void> {
  const columns = `id, org_id, project, pipeline, actor, runner, status, day, slot, created_at, stopped_at,
    time_limit_seconds, files_removed_at, work, changed, holder, launched_at`;
  await team.patiently([
    [
      `insert into orgs (id, name, tier, parallel_runs, runs_per_day, created_at)
        select 'org_held_' || n, 'held ' || n, 'free', 1, 50, 0 from generate_series(1, $1::int) n`,
      [manyActive],
    ],
    [
      `insert into runs (${columns})
        select 'run_ended_' || lpad(n::text, 20, '0'), 'org_held_' || (n % $1::int + 1), 'shop', 'hello', 'key_held',
          'bench', 'succeeded', '2026-01-01', 1, n, n + 1, 30, n + 1, '', n, null, n
        from generate_series(1, 10 * $1::int) n`,
      [manyActive],
    ],
    [
      `insert into runs (${columns})
        select 'run_held_' || lpad(n::text, 20, '0'), 'org_held_' || n, 'shop', 'hello', 'key_held',
          'bench', 'running', '2026-01-02', 1, n, null, 30, null, '', n, 'key_held/rnr_held', n
        from generate_series(1, $1::int) n`,
      [manyActive],
    ],
    ["vacuum analyze"],
  ]);
}

const at = "2026-01-01T00:00:00.000Z";
const step = { kind: "step", index: 0, name: "echo hello", type: "cli", startedAt: at } as const;
/** Each a request of its own, as a runner sends them, but for the first two. */
const messagesOfRun: readonly RunnerMessage[] = [
  { kind: "pipeline", path: "pipelines/hello.yaml", texts: { "pipelines/hello.yaml": "steps: []\n" } },
  { ...step, status: "running" },
  { ...step, status: "succeeded", stoppedAt: at },
  { kind: "ended", end: { kind: "succeeded" } },
];

/** Lines of 100 characters, about as alike as those of a server's log. */
function output(lines: number): RunnerMessage[] {
  return Array.from({ length: lines }, (_, line) => {
    const id = createHash("sha256").update(String(line)).digest("hex").slice(0, 20);
    const text = `${at} info request answered, path=/orders/${line} status=200 id=${id}`;
    return { kind: "output", index: 0, at, stream: "stdout", text: `${text.padEnd(99)}\n` };
  });
}

/** A run of one step without a log, from its start to its end. */
export async function wholeRun(lab: Lab, secret: string, signal: AbortSignal): Promise<void> {
  await start(lab.server, secret);
  await oneWork(lab, signal);
}

/** Takes a run and says all of it. @returns whether there was one. */
export async function oneWork({ api, runnerId }: Lab, signal: AbortSignal): Promise<boolean> {
  const work = await api.work(runnerId, [], 1, signal);
  if (work === undefined) return false;
  const name = { runId: work.runId, runnerId };
  await api.sendMessages(name, 1, messagesOfRun.slice(0, 2), signal);
  await api.sendMessages(name, 3, messagesOfRun.slice(2, 3), signal);
  await api.sendMessages(name, 4, messagesOfRun.slice(3), signal);
  return true;
}

/** What a whole run costs, without its log and heartbeats. */
export function runCost({ start: started, take, messages }: Costs): Used {
  return sum([1, started], [1, take], [1, messages]);
}
