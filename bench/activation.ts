import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { projectRoot, vsixFile } from "../scripts/projectRoot.ts";
import {
  BenchEditor,
  emptyCommonJs,
  emptyModule,
  ours,
  type Times,
  type WindowNotes,
} from "./activation/editor.ts";
import { measureNumbers } from "./activation/numbers.ts";
import type { Benchmark, Goal, Measured, NotMeasured, Row, Setting, Table } from "./benchmark.ts";
import { median } from "./median.ts";

/** Each contestant is the first, the second and the last as often as the others. */
const idleRounds = 30;
/** Each has a window of every kind in which a number is shown. */
const numberRounds = 30;
/** The first windows read the editor's own files from the disk. */
const warmUps = 2;
const contestants = [ours, emptyCommonJs, emptyModule];

/**
 * How long the extension's module takes to load and its `activate` to return, beside extensions that do nothing, in
 * the extension host of a real VS Code: a fresh host each round, and all in turns. Then how long a person waits for a
 * number and for a run, beside extensions of a few lines, and what a window loads. About ten minutes.
 */
export const activation: Benchmark = {
  name: "activation",
  decides: "what the extension costs each window that starts, and what a person waits for",
  measure,
};

async function measure(setting: Setting): Promise<Measured | NotMeasured> {
  if (process.platform !== "linux") {
    return { kind: "not-measured", why: "the VS Code from npm, in which it is measured, is for Linux" };
  }
  const idle = await idleWindows(setting.signal);
  const numbers = await measureNumbers(numberRounds, setting);
  const counted = idle.slice(warmUps);
  const row = (name: string, id: string, part: (times: Times) => number, goal?: Goal): Row => {
    const times = counted.map(({ measured }) => part(timesOf(measured, id)));
    const others = counted.map(({ measured }) => part(timesOf(measured, emptyCommonJs)));
    return {
      name,
      figures: [
        { name: "median", value: median(times), unit: "ms" },
        { name: "fastest", value: Math.min(...times), unit: "ms" },
        {
          name: "ratio",
          value: median(times) / median(others),
          unit: "×",
          beside: "the same of an empty extension, CommonJS",
          ...(goal && { goal }),
        },
      ],
    };
  };
  const rowsOf = (name: string, id: string, goal?: Goal): Row[] => [
    row(`${name}: load`, id, ({ load }) => load),
    row(`${name}: activate`, id, ({ activate }) => activate),
    row(`${name}: both`, id, ({ load, activate }) => load + activate, goal),
  ];
  return {
    kind: "measured",
    rounds: numbers.rounds,
    tables: [
      {
        rows: [
          ...rowsOf("empty, CommonJS", emptyCommonJs),
          ...rowsOf("empty, ES module", emptyModule),
          ...rowsOf("Pipeline Runs", ours, { atMost: 10 }),
        ],
      },
      ...numbers.tables,
      sizesOf("loaded by a window without pipelines", counted[0]),
      sizesOf("loaded by a window with pipelines", numbers.live),
      await builtSizes(),
    ],
  };
}

async function idleWindows(signal: AbortSignal): Promise<WindowNotes[]> {
  await using editor = await BenchEditor.start(signal);
  const windows: WindowNotes[] = [];
  for (let round = 0; round < idleRounds + warmUps; round += 1) {
    const first = round % contestants.length;
    const order = [...contestants.slice(first), ...contestants.slice(0, first)];
    windows.push(await editor.openWindow({ order, hasPipelines: false, settleMilliseconds: 300 }));
  }
  return windows;
}

function timesOf(measured: WindowNotes["measured"], id: string): Times {
  const times = measured[id];
  if (times === undefined) throw new Error(`${id} was not activated`);
  return times;
}

/** The modules of the extension that a window has loaded: their sum, then the largest. */
function sizesOf(title: string, round: WindowNotes | undefined): Table {
  const ofExtension = (round?.loaded ?? []).filter(({ url }) => /\/pipeline-runs\.pipeline-runs-/.test(url));
  const sizes = [...new Map(ofExtension.map(({ url, bytes }) => [url, bytes]))];
  const largest = sizes.toSorted(([, one], [, other]) => other - one).slice(0, 8);
  return {
    title,
    rows: [
      sizeRow(`${sizes.length} files`, sumOf(sizes.map(([, bytes]) => bytes))),
      ...largest.map(([url, bytes]) => sizeRow(`  ${basename(url)}`, bytes)),
    ],
  };
}

async function builtSizes(): Promise<Table> {
  const chunks = (await readdir(join(projectRoot, "dist/extension"))).map((name) => `dist/extension/${name}`);
  const built = await Promise.all(["dist/extension.cjs", ...chunks].map(bytesOf));
  return {
    title: "sizes",
    rows: [
      sizeRow("all that is built for the editor", sumOf(built)),
      sizeRow("the package, with service and pictures", (await stat(vsixFile)).size),
    ],
  };
}

async function bytesOf(file: string): Promise<number> {
  return (await stat(join(projectRoot, file))).size;
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

function sizeRow(name: string, bytes: number): Row {
  return { name, figures: [{ name: "size", value: bytes, unit: "bytes" }] };
}
