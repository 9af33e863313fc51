import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Page } from "playwright-core";
import { type Embedded, findEmbedded } from "../../src/client/embedded/findEmbedded.ts";
import { registerProject } from "../../src/client/project.ts";
import { endProcess } from "../../test/endProcessesOf.ts";
import type { Setting, Table } from "../benchmark.ts";
import { median } from "../median.ts";
import { BenchEditor, floor, floorThatStarts, ours, type WindowNotes } from "./editor.ts";

/** What is measured beside each other: each in windows of its own, so that neither profits from the other. */
const contestants = {
  running: { id: ours, beside: "running floor", title: "Pipeline Runs, the service runs", atMost: 1.5 },
  "running floor": { id: floor, title: "ten lines that fetch and show it" },
  started: {
    id: ours,
    beside: "started floor",
    title: "Pipeline Runs, the service is started",
    atMost: 1.8,
  },
  "started floor": { id: floorThatStarts, title: "ten lines that start a server of ten lines" },
} as const;
type Name = keyof typeof contestants;

/** The first windows read the editor's own files from the disk. */
const warmUps = 1;
/** The service's day has 50 runs, and each round two. */
const roundsPerDay = 20;
/** Longer than the start of a window takes, so that a click isn't measured together with it. */
const settleMilliseconds = 500;

interface Click {
  /** From Enter in the palette to the row on the screen. */
  readonly toPick: number;
  /** From Enter in the quick pick to the active run on the screen. */
  readonly toRunning: number;
}

export interface NumberTimes {
  readonly rounds: number;
  readonly tables: readonly Table[];
  /** The last window with pipelines. */
  readonly live: WindowNotes | undefined;
}

/** From `activate` to the number in the status bar, and from a click to the active run, beside the least that can be. */
export async function measureNumbers(rounds: number, { signal, say }: Setting): Promise<NumberTimes> {
  await using editor = await BenchEditor.start(signal);
  await editor.page.context().addInitScript(watchScreen);
  const times = new Map<Name, number[]>();
  const clicks = new Map<Name, Click[]>();
  let live: WindowNotes | undefined;
  const open = async (name: Name): Promise<void> => {
    const { id } = contestants[name];
    const hasPipelines = id === ours;
    const notes = await editor.openWindow({ order: [id], hasPipelines, settleMilliseconds });
    if (hasPipelines) live = notes;
    const found = await editor.page.waitForFunction("globalThis.benchSeen?.number", undefined, {
      timeout: 60_000,
    });
    add(times, name, Number(await found.jsonValue()) - (notes.measured[id]?.at ?? Number.NaN));
  };
  for (let round = -warmUps; round < rounds; round += 1) {
    if (round % 10 === 0) say(`round ${round} of ${rounds}`);
    await endService(editor, (round + warmUps) % roundsPerDay === 0);
    await open("started");
    const { client } = await serviceOf(editor, signal);
    await registerProject(client, { name: "project", root: editor.project }, signal);
    const both = ["running", "running floor"] as const;
    for (const name of round % 2 === 0 ? both : both.toReversed()) {
      await open(name);
      add(clicks, name, await click(editor.page, contestants[name].id));
      while ((await client.runs({ active: true }, signal)).runs.length > 0) await pause(50);
    }
    // The service isn't asked for in this window, and so not started again when it is ended next.
    await open("started floor");
  }
  return { rounds, tables: [numberTable(times), clickTable(clicks)], live };
}

function add<T>(values: Map<Name, T[]>, name: Name, value: T): void {
  const known = values.get(name) ?? [];
  known.push(value);
  values.set(name, known);
}

function numberTable(all: ReadonlyMap<Name, readonly number[]>): Table {
  const timesOf = (name: Name) => (all.get(name) ?? []).slice(warmUps);
  return {
    title: "from activation to a true number in the status bar",
    rows: (["running", "running floor", "started", "started floor"] as const).map((name) => {
      const contestant = contestants[name];
      const [middle, fastest] = [median(timesOf(name)), Math.min(...timesOf(name))];
      return {
        name: contestant.title,
        figures: [
          { name: "median", value: middle, unit: "ms" },
          { name: "fastest", value: fastest, unit: "ms" },
          ...("beside" in contestant
            ? [
                {
                  name: "ratio",
                  value: middle / median(timesOf(contestant.beside)),
                  unit: "×" as const,
                  beside: "the next line",
                  goal: { atMost: contestant.atMost },
                },
              ]
            : []),
        ],
      };
    }),
  };
}

function clickTable(all: ReadonlyMap<Name, readonly Click[]>): Table {
  const rowOf = (title: string, part: (click: Click) => number, atMost?: number): Table["rows"][number][] => {
    const timesOf = (name: Name) => (all.get(name) ?? []).slice(warmUps).map(part);
    return (["running", "running floor"] as const).map((name) => ({
      name: `${title}, ${name === "running" ? "Pipeline Runs" : "floor"}`,
      figures: [
        { name: "median", value: median(timesOf(name)), unit: "ms" },
        { name: "fastest", value: Math.min(...timesOf(name)), unit: "ms" },
        ...(name === "running"
          ? [
              {
                name: "ratio",
                value: median(timesOf(name)) / median(timesOf("running floor")),
                unit: "×" as const,
                beside: "the next line",
                ...(atMost === undefined ? {} : { goal: { atMost } }),
              },
            ]
          : []),
      ],
    }));
  };
  return {
    title: "the first click in a window, without the person's own time",
    rows: [
      ...rowOf("palette's Enter to the list", ({ toPick }) => toPick),
      ...rowOf("list's Enter to “running”", ({ toRunning }) => toRunning),
      ...rowOf("both", ({ toPick, toRunning }) => toPick + toRunning, 1.5),
    ],
  };
}

async function serviceOf({ data }: BenchEditor, signal: AbortSignal): Promise<Embedded> {
  const found = await findEmbedded({ folder: data }, signal);
  if (found === undefined) throw new Error("the service doesn't run");
  return found;
}

/** @param forgets whether its day begins anew. */
async function endService({ data }: BenchEditor, forgets: boolean): Promise<void> {
  const found = await findEmbedded({ folder: data }, new AbortController().signal);
  if (found !== undefined) await endProcess(found.connection.pid);
  if (!forgets) return;
  for (const name of await readdir(data)) await rm(join(data, name), { recursive: true });
}

/** Runs the pipeline from the palette. */
async function click(page: Page, id: string): Promise<Click> {
  const title = id === ours ? "Pipeline Runs: Run Pipeline…" : "Run the Floor";
  await page.keyboard.press("F1");
  await page.locator(".quick-input-widget:visible .quick-input-box input").fill(`>${title}`);
  await page.locator(".quick-input-widget .monaco-list-row.focused").filter({ hasText: title }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForFunction("globalThis.benchSeen.pick");
  await page.locator(".quick-input-widget .monaco-list-row.focused").filter({ hasText: "hello" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForFunction("globalThis.benchSeen.running");
  return page.evaluate<Click>(
    "({ toPick: benchSeen.pick - benchSeen.enters[0], toRunning: benchSeen.running - benchSeen.enters[1] })",
  );
}

/** Notes, in the page, when the screen first shows each, in milliseconds since 1970. */
const watchScreen = `
const seen = (globalThis.benchSeen = { enters: [] });
const now = () => performance.timeOrigin + performance.now();
addEventListener("keydown", ({ key }) => key === "Enter" && seen.enters.push(now()), true);
new MutationObserver(() => {
  const item = document.querySelector('.statusbar-item[id="${ours}.quota"], .statusbar-item[id^="bench."][id$=".quota"]');
  if (/\\d+ of \\d+ runs/.test(item?.textContent ?? "")) seen.number ??= now();
  const [list, run] = seen.enters;
  const labels = list === undefined ? [] : [...document.querySelectorAll(".quick-input-list .label-name")];
  if (labels.some(({ textContent }) => textContent === "hello")) seen.pick ??= now();
  if (run !== undefined && item?.querySelector(".codicon-sync") !== null) seen.running ??= now();
}).observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
`;
