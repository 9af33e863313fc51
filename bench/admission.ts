import type { Usage } from "./admission/calls.ts";
import {
  type Case,
  type Compared,
  type Comparison,
  compare,
  type SideName,
  type Turned,
} from "./admission/compare.ts";
import type { Benchmark, Figure, Goal, Measured, Row, Setting, Table } from "./benchmark.ts";
import { median } from "./median.ts";

const rounds = 7;
const seconds = 1;

/** What is asked, and the goal for its share of the bare server's rate, from so many connections on. */
type Asked = Case & { readonly goal: Goal; readonly from: number };

const reads: readonly Asked[] = [
  {
    name: "GET /api/org",
    ...{ path: "/api/org", pipeline: undefined, status: 200 },
    keysOf: ({ free }) => [free],
    ...{ goal: { atLeast: 0.5 }, from: 16 },
  },
  {
    name: "a refusal: slot taken",
    ...{ path: "/api/runs", pipeline: "hello", status: 429 },
    keysOf: ({ free }) => [free],
    ...{ goal: { atLeast: 0.5 }, from: 16 },
  },
  {
    name: "a refusal: day used up",
    ...{ path: "/api/runs", pipeline: "hello", status: 429 },
    keysOf: ({ used }) => [used],
    ...{ goal: { atLeast: 0.5 }, from: 16 },
  },
];

const start: Asked = {
  name: "a start admitted",
  ...{ path: "/api/runs", pipeline: "hello", status: 201 },
  keysOf: ({ unlimited }) => unlimited,
  // One that is asked for alone has nobody to share its sync with.
  ...{ goal: { atLeast: 0.7 }, from: 16 },
};

/** Where a sync costs next to nothing, there is next to nothing to be won by sharing it. */
const longerCommit = 1;

/** How many requests a second the service answers, beside the least that could answer them. */
export const admission: Benchmark = {
  name: "admission",
  decides: "whether one service is enough for a team whose every tool polls it",
  measure,
};

async function measure({ signal, say }: Setting): Promise<Measured> {
  const common = { rounds, seconds, say };
  const answered = await compare(
    { ...common, cases: reads, sides: ["ours", "bare"], connections: [1, 16, 256], commitMilliseconds: 0 },
    signal,
  );
  const starts = { ...common, cases: [start], sides: ["ours", "bare", "sharing"] } as const;
  const started = await compare({ ...starts, connections: [1, 16, 256], commitMilliseconds: 0 }, signal);
  say(`with commits that take ${longerCommit} ms more`);
  const slow = await compare({ ...starts, connections: [16, 256], commitMilliseconds: longerCommit }, signal);
  return {
    kind: "measured",
    rounds,
    tables: [
      ...reads.map((asked) => tableOf(asked, answered)),
      tableOf(start, started),
      tableOf(start, slow, `${start.name}, where each commit takes ${longerCommit} ms more`),
      {
        title: "memory, resident",
        rows: [memoryRow("ours", started), memoryRow("bare", started)],
      },
    ],
  };
}

function tableOf({ name, goal, from }: Asked, { compared }: Comparison, title = name): Table {
  const rows = compared
    .filter((one) => one.name === name)
    .flatMap((one) => rowsOf(one, one.connections >= from ? goal : undefined));
  return { title, rows };
}

const words: Readonly<Record<SideName, string>> = {
  ours: "ours",
  bare: "bare",
  sharing: "bare, sharing commits",
};

function rowsOf({ connections, turns }: Compared, goal: Goal | undefined): Row[] {
  const where = connections === 1 ? "1 connection" : `${connections} connections`;
  const bare = turns.get("bare") ?? [];
  return [...turns].map(([side, own]) => ({
    name: `${words[side]}, ${where}`,
    figures: [
      { name: "rate", value: of(own, "perSecond"), unit: "per s" },
      { name: "p50", value: of(own, "medianMilliseconds"), unit: "ms" },
      { name: "p99", value: of(own, "p99Milliseconds"), unit: "ms" },
      { name: "processor time each", value: of(own, "processorMicroseconds"), unit: "µs" },
      ...(side === "bare" ? [] : sharesOf(own, bare, side === "ours" ? goal : undefined)),
    ],
  }));
}

function sharesOf(own: readonly Turned[], bare: readonly Turned[], goal: Goal | undefined): Figure[] {
  return [
    {
      name: "share of the bare rate",
      value: of(own, "perSecond") / of(bare, "perSecond"),
      unit: "×",
      beside: "a bare server's",
      ...(goal === undefined ? {} : { goal }),
    },
    {
      name: "bare processor time to its own",
      value: of(bare, "processorMicroseconds") / of(own, "processorMicroseconds"),
      unit: "×",
    },
  ];
}

function of(turns: readonly Turned[], figure: keyof Turned): number {
  return median(turns.map((turn) => turn[figure]));
}

function memoryRow(side: SideName, { atRest, afterwards }: Comparison): Row {
  const used = (usage: Usage | undefined, bytes: "memoryBytes" | "mostMemoryBytes") =>
    usage?.[bytes] ?? Number.NaN;
  return {
    name: words[side],
    figures: [
      { name: "at rest", value: used(atRest.get(side), "memoryBytes"), unit: "bytes" },
      { name: "most", value: used(afterwards.get(side), "mostMemoryBytes"), unit: "bytes" },
      { name: "afterwards", value: used(afterwards.get(side), "memoryBytes"), unit: "bytes" },
    ],
  };
}
