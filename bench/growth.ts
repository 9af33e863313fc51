import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { TemporaryFolder } from "../test/temporaryFolder.ts";
import type { Benchmark, Measured, Row, Setting, Table } from "./benchmark.ts";
import type { Filled, Filling, GrowthCalls, Held } from "./growth/calls.ts";
import { median } from "./median.ts";
import { Worker } from "./worker/worker.ts";

const rounds = 250;
const warmUps = 100;

/** What the service takes for an answer, with more and more in its database. */
export const growth: Benchmark = {
  name: "growth",
  decides: "whether the service stays as fast with years of history and many orgs",
  measure,
};

interface Size {
  readonly name: string;
  readonly filling: Filling;
}

const histories: readonly Size[] = [
  { name: "10² runs", filling: { orgs: 1, runsOfFirst: 100, runsOfOthers: 0 } },
  { name: "10⁴ runs", filling: { orgs: 1, runsOfFirst: 10_000, runsOfOthers: 0 } },
  { name: "10⁶ runs", filling: { orgs: 1, runsOfFirst: 1_000_000, runsOfOthers: 0 } },
];

const crowds: readonly Size[] = [
  { name: "1 org", filling: { orgs: 1, runsOfFirst: 100, runsOfOthers: 3 } },
  { name: "10³ orgs", filling: { orgs: 1_000, runsOfFirst: 100, runsOfOthers: 3 } },
  { name: "10⁵ orgs", filling: { orgs: 100_000, runsOfFirst: 100, runsOfOthers: 3 } },
];

interface Case {
  readonly name: string;
  readonly method: "GET" | "POST";
  readonly path: (filled: Filled) => string;
  readonly status: number;
  /** Of what there is only in a long history: not asked with many orgs. */
  readonly isDeep?: boolean;
}

const get = (name: string, path: string | ((filled: Filled) => string), isDeep = false): Case => ({
  name,
  method: "GET",
  path: typeof path === "string" ? () => path : path,
  status: 200,
  isDeep,
});

/** With a slot free, and then with none. Each has the same answer, of whatever length the history is. */
const withSlot: readonly Case[] = [
  get("GET /api/org", "/api/org"),
  { name: "a start", method: "POST", path: () => "/api/runs", status: 201 },
  get("the newest runs", "/api/runs"),
  get("a page in the middle", ({ middle }) => `/api/runs?after=${middle}`, true),
  get("the last of a rare status", "/api/runs?limit=1&status=lost", true),
  get("the last of a key that starts few", ({ keyOfFew }) => `/api/runs?limit=1&actor=${keyOfFew}`, true),
  get("the last of a small project", "/api/runs?limit=1&project=seldom", true),
  get("the last of a rare pipeline", "/api/runs?limit=1&pipeline=seldom", true),
  get("active runs", "/api/runs?status=in-work"),
  get("one run", ({ middle }) => `/api/runs/${middle}`, true),
];
const withoutSlot: readonly Case[] = [
  { name: "a refusal", method: "POST", path: () => "/api/runs", status: 429 },
];

async function measure(setting: Setting): Promise<Measured> {
  const history = await measureSizes(histories, true, setting);
  const crowd = await measureSizes(crowds, false, setting);
  return { kind: "measured", rounds, tables: [...history, ...crowd] };
}

const program = join(import.meta.dirname, "growth/service.ts");

interface Served {
  readonly size: Size;
  readonly worker: Worker<GrowthCalls>;
  readonly filled: Filled;
  readonly swept: Held;
  readonly url: string;
}

/**
 * Fills a database in a process that ends with it: what a million rows leave in a process would be measured, too. The files
 * that are to be swept are swept before it is served, which a service does as soon as it has begun.
 */
async function fill(folder: string, filling: Filling): Promise<Pick<Served, "filled" | "swept">> {
  await using worker = new Worker<GrowthCalls>(program, [folder]);
  return { filled: await worker.call("fill", filling), swept: await worker.call("sweep") };
}

async function measureSizes(
  sizes: readonly Size[],
  isDeep: boolean,
  { signal, say }: Setting,
): Promise<Table[]> {
  await using folder = await TemporaryFolder.make("pipeline-runs-bench");
  await using stack = new AsyncDisposableStack();
  const served: Served[] = [];
  for (const [at, size] of sizes.entries()) {
    signal.throwIfAborted();
    say(`filling ${size.name}…`);
    const own = join(folder.path, String(at));
    await mkdir(own);
    const before = await fill(own, size.filling);
    const worker = stack.use(new Worker<GrowthCalls>(program, [own]));
    served.push({ size, worker, ...before, url: await worker.call("serve") });
  }
  const agent = new Agent({ keepAlive: true });
  stack.defer(() => agent.destroy());
  const rows: Row[] = [];
  for (const [parallelRuns, cases] of [
    [1_000_000, withSlot],
    [0, withoutSlot],
  ] as const) {
    for (const { worker } of served) await worker.call("limit", parallelRuns);
    for (const one of cases.filter((wanted) => isDeep || wanted.isDeep !== true)) {
      const times = served.map((): number[] => []);
      for (let round = -warmUps; round < rounds; round += 1) {
        signal.throwIfAborted();
        for (let at = 0; at < served.length; at += 1) {
          const which = (at + round + warmUps) % served.length;
          const contestant = served[which];
          if (contestant === undefined) continue;
          const milliseconds = await ask(agent, one, contestant);
          if (round >= 0) times[which]?.push(milliseconds);
        }
      }
      rows.push(rowOf(one.name, sizes, times));
    }
  }
  const fills: Row = {
    name: "the database",
    figures: served.map(({ size, filled }) => ({ name: size.name, value: filled.bytes, unit: "bytes" })),
  };
  const title = isDeep ? "runs in one org's history, medians" : "orgs with three runs each, medians";
  if (!isDeep) return [{ title, rows: [...rows, fills] }];
  const sweeps = served.map(
    ({ size, swept }): Row => ({
      name: size.name,
      figures: [
        { name: "runs swept", value: swept.runs, unit: "count" },
        { name: "all of it", value: swept.milliseconds, unit: "ms" },
        { name: "longest time nobody was answered", value: swept.longestMilliseconds, unit: "ms" },
      ],
    }),
  );
  return [
    { title, rows: [...rows, fills] },
    { title: "the hourly sweep of old runs' files", rows: sweeps },
  ];
}

function rowOf(name: string, sizes: readonly Size[], times: readonly (readonly number[])[]): Row {
  const medians = times.map(median);
  const smallest = medians[0] ?? Number.NaN;
  const largest = medians.at(-1) ?? Number.NaN;
  return {
    name,
    figures: [
      ...sizes.map((size, at) => ({
        name: size.name,
        value: medians[at] ?? Number.NaN,
        unit: "ms" as const,
      })),
      {
        name: `${sizes.at(-1)?.name} / ${sizes[0]?.name}`,
        value: largest / smallest,
        unit: "×",
        goal: { atMost: 1.2 },
      },
    ],
  };
}

/** @returns how long the whole answer took, in milliseconds. @throws Error for another status than the one that is meant. */
function ask(agent: Agent, { name, method, path, status }: Case, { filled, url }: Served): Promise<number> {
  const headers = {
    "x-api-key": filled.secret,
    ...(method === "GET" ? {} : { "content-type": "application/json", "idempotency-key": randomUUID() }),
  };
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const asked = request(`${url}${path(filled)}`, { method, agent, headers });
    asked.once("error", reject);
    asked.once("response", (reply) => {
      reply.resume().once("end", () => {
        if (reply.statusCode === status) resolve(performance.now() - began);
        else reject(new Error(`${name} was answered with ${reply.statusCode}`));
      });
    });
    asked.end(method === "GET" ? undefined : '{"pipeline":"hello","project":"project"}');
  });
}
