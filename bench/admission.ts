import { type Case, type Compared, compare, type Turned } from "./admission/compare.ts";
import type { Usage } from "./admission/messages.ts";
import type { Benchmark, Figure, Goal, Measured, Row, Setting, Table } from "./benchmark.ts";
import { median } from "./median.ts";

const rounds = 7;
const turnSeconds = 1;
const connections = [1, 16, 256];

/** What is meant to be reached of the bare server's rate. */
const cases: readonly (Case & { readonly goal: Goal; readonly from: number })[] = [
  {
    name: "GET /api/org",
    ...{ path: "/api/org", pipeline: undefined, status: 200 },
    keysOf: ({ free }) => [free],
    ...{ goal: { atLeast: 0.9 }, from: 1 },
  },
  {
    name: "a refusal: place taken",
    ...{ path: "/api/runs", pipeline: "hello", status: 429 },
    keysOf: ({ free }) => [free],
    ...{ goal: { atLeast: 0.9 }, from: 1 },
  },
  {
    name: "a refusal: day used up",
    ...{ path: "/api/runs", pipeline: "hello", status: 429 },
    keysOf: ({ used }) => [used],
    ...{ goal: { atLeast: 0.9 }, from: 1 },
  },
  {
    name: "a start admitted",
    ...{ path: "/api/runs", pipeline: "hello", status: 201 },
    keysOf: ({ unlimited }) => unlimited,
    // One that is asked for alone has nobody to share its sync with.
    ...{ goal: { atLeast: 2 }, from: 16 },
  },
];

const bare = "a bare server's";

/** How many requests a second the service answers, beside the least that could answer them. */
export const admission: Benchmark = {
  name: "admission",
  decides: "whether one service is enough for a team whose every tool polls it",
  needs: [],
  measure,
};

async function measure({ signal, say }: Setting): Promise<Measured> {
  const wanted = { cases, connections, rounds, seconds: turnSeconds, say };
  const { compared, atRest, afterwards } = await compare(wanted, signal);
  return {
    kind: "measured",
    rounds,
    tables: [
      ...cases.map(
        ({ name, goal, from }): Table => ({
          title: name,
          rows: compared
            .filter((one) => one.name === name)
            .flatMap((one) => rowsOf(one, one.connections >= from ? goal : undefined)),
        }),
      ),
      {
        title: "memory, resident",
        rows: [
          memoryRow("ours", atRest.ours, afterwards.ours),
          memoryRow("bare", atRest.bare, afterwards.bare),
        ],
      },
    ],
  };
}

function rowsOf({ connections: count, ours, bare: others }: Compared, goal: Goal | undefined): Row[] {
  const of = (turns: readonly Turned[], figure: keyof Turned) => median(turns.map((turn) => turn[figure]));
  const times = (turns: readonly Turned[]): Figure[] => [
    { name: "rate", value: of(turns, "perSecond"), unit: "per s" },
    { name: "p50", value: of(turns, "medianMilliseconds"), unit: "ms" },
    { name: "p99", value: of(turns, "p99Milliseconds"), unit: "ms" },
    { name: "processor time each", value: of(turns, "processorMicroseconds"), unit: "µs" },
  ];
  const share = (figure: (turn: Turned) => number, value: (ours: number, others: number) => number) =>
    value(median(ours.map(figure)), median(others.map(figure)));
  const where = count === 1 ? "1 connection" : `${count} connections`;
  return [
    {
      name: `ours, ${where}`,
      figures: [
        ...times(ours),
        {
          name: "share of the bare rate",
          value: share(
            (turn) => turn.perSecond,
            (one, other) => one / other,
          ),
          unit: "×",
          beside: bare,
          ...(goal === undefined ? {} : { goal }),
        },
        {
          name: "bare processor time to ours",
          value: share(
            (turn) => turn.processorMicroseconds,
            (one, other) => other / one,
          ),
          unit: "×",
        },
      ],
    },
    { name: `bare, ${where}`, figures: times(others) },
  ];
}

function memoryRow(name: string, atRest: Usage, afterwards: Usage): Row {
  return {
    name,
    figures: [
      { name: "at rest", value: atRest.memoryBytes, unit: "bytes" },
      { name: "most", value: afterwards.mostMemoryBytes, unit: "bytes" },
      { name: "afterwards", value: afterwards.memoryBytes, unit: "bytes" },
    ],
  };
}
