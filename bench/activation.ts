import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { execa } from "execa";
import { installHost, installVsix } from "../scripts/editor/installHost.ts";
import { projectRoot, vsixFile } from "../scripts/projectRoot.ts";
import { sayToStandardError } from "../scripts/say.ts";
import { readConnection } from "../src/client/embedded/connectionFile.ts";
import { ServedEditor } from "../test/editor/served/servedEditor.ts";
import { endProcess, endProcessesOf } from "../test/endProcessesOf.ts";
import { TemporaryFolder } from "../test/temporaryFolder.ts";
import type { Benchmark, Goal, Measured, NotMeasured, Row, Setting, Table } from "./benchmark.ts";
import { median } from "./median.ts";

/** Each contestant is the first, the second and the last as often as the others. */
const rounds = 12;
/** The first windows read the editor's own files from the disk. */
const warmUps = 2;
/** How long a window is left alone before the modules that it has loaded are listed, in milliseconds. */
const settleMilliseconds = 3000;

const ours = "pipeline-runs.pipeline-runs";
/** Extensions that do nothing, one of each kind of module; ours has a CommonJS entry, as most have. */
const emptyCommonJs = "bench.empty";
const emptyModule = "bench.empty-module";
const contestants = [ours, emptyCommonJs, emptyModule];

/** Windows with pipelines, before each second of which the service is ended. */
const liveRounds = 8;

interface Times {
  /** When `activate` was called, in milliseconds since 1970. */
  readonly at: number;
  readonly load: number;
  readonly activate: number;
}

interface Round {
  readonly measured: Readonly<Record<string, Times>>;
  /** The modules that the extension host has loaded, the contestants' entries among them. */
  readonly loaded: readonly { readonly url: string; readonly bytes: number }[];
}

interface LiveRound extends Round {
  /** When the status bar showed the service's numbers, in milliseconds since 1970. */
  readonly numberAt: number;
  readonly service: "running" | "ended";
}

/**
 * How long the extension's module takes to load and its `activate` to return, beside extensions that do nothing, in
 * the extension host of a real VS Code: a fresh host each round, and all in turns. Then what a window loads.
 */
export const activation: Benchmark = {
  name: "activation",
  decides: "what the extension costs each window that starts",
  measure,
};

async function measure({ signal }: Setting): Promise<Measured | NotMeasured> {
  if (process.platform !== "linux") {
    return { kind: "not-measured", why: "the VS Code from npm, in which it is measured, is for Linux" };
  }
  const idle = await inWindows(rounds + warmUps, false, signal);
  const live: LiveRound[] = [];
  await inWindows(liveRounds + warmUps, true, signal, async (round, { numberAt, service }) => {
    live.push({ ...round, numberAt, service });
  });
  const numberRow = (name: string, service: LiveRound["service"], beside: LiveRound["service"]): Row => {
    const times = numberTimes(live, service);
    return {
      name,
      figures: [
        { name: "median", value: median(times), unit: "ms" },
        { name: "fastest", value: Math.min(...times), unit: "ms" },
        {
          name: "ratio",
          value: median(times) / median(numberTimes(live, beside)),
          unit: "×",
          beside: "a service that runs already",
        },
      ],
    };
  };
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
    rounds,
    tables: [
      {
        rows: [
          ...rowsOf("empty, CommonJS", emptyCommonJs),
          ...rowsOf("empty, ES module", emptyModule),
          ...rowsOf("Pipeline Runs", ours, { atMost: 10 }),
        ],
      },
      {
        title: "from activation to a true number in the status bar",
        rows: [
          numberRow("the service runs already", "running", "running"),
          numberRow("the service is started", "ended", "running"),
        ],
      },
      sizesOf("loaded by a window without pipelines", counted[0]),
      sizesOf("loaded by a window with pipelines", live.at(-1)),
      await builtSizes(),
    ],
  };
}

function numberTimes(rounds: readonly LiveRound[], wanted: LiveRound["service"]): number[] {
  return rounds
    .slice(warmUps)
    .filter(({ service }) => service === wanted)
    .map(({ measured, numberAt }) => numberAt - timesOf(measured, ours).at);
}

/**
 * Opens the same window again and again.
 * @param hasPipelines whether its folder has any.
 * @param onNumber called after each window that has shown a number, which it is waited for then.
 */
async function inWindows(
  count: number,
  hasPipelines: boolean,
  signal: AbortSignal,
  onNumber?: (round: Round, seen: Pick<LiveRound, "numberAt" | "service">) => Promise<void>,
): Promise<Round[]> {
  await using work = await TemporaryFolder.make("pipeline-runs-bench");
  await using data = await TemporaryFolder.make("pipeline-runs-bench-data");
  await using _working = { [Symbol.asyncDispose]: () => endProcessesOf(data.path) };
  const folder = join(work.path, "workspace");
  await mkdir(join(folder, "pipelines"), { recursive: true });
  if (hasPipelines) await writeFile(join(folder, "pipelines/hello.yaml"), aPipeline);
  const plan = join(work.path, "plan.json");
  const results = join(work.path, "results.ndjson");
  await using editor = await ServedEditor.start(
    {
      smoke: false,
      vsix: vsixFile,
      folder,
      env: { PIPELINE_DATA_DIR: data.path, PIPELINE_RUNS_BENCH: plan },
    },
    signal,
  );
  const host = await installHost(sayToStandardError, signal);
  // Whatever is to do anything in the editor imports its API.
  const activate = "activate = () => {\n  void vscode.version;\n};\n";
  const commonJs = `const vscode = require("vscode");\nexports.${activate}`;
  const module = `import * as vscode from "vscode";\nexport const ${activate}`;
  const driver = await readFile(join(import.meta.dirname, "activation/driver.cjs"), "utf8");
  for (const vsix of [
    await packaged(work.path, { name: "empty", main: "./main.cjs" }, { "main.cjs": commonJs }),
    await packaged(
      work.path,
      { name: "empty-module", main: "./main.js", type: "module" },
      { "main.js": module },
    ),
    await packaged(
      work.path,
      { name: "driver", main: "./driver.cjs", activationEvents: ["*"] },
      { "driver.cjs": driver },
    ),
  ]) {
    await installVsix(host, editor.dataFolder, vsix, signal);
  }
  await editor.page.addInitScript(numberWatch);
  for (let round = 0; round < count; round++) {
    const service = round % 2 === 0 ? "ended" : "running";
    if (onNumber !== undefined && service === "ended") {
      // The window before would have it started again.
      await editor.page.goto("about:blank");
      await pause(settleMilliseconds, undefined, { signal });
      const connection = await readConnection(data.path);
      if (connection !== undefined) await endProcess(connection.pid);
    }
    const first = round % contestants.length;
    const order = [...contestants.slice(first), ...contestants.slice(0, first)];
    await writeFile(plan, JSON.stringify({ order, results, settleMilliseconds }));
    await editor.page.goto(editor.server.address(folder), { waitUntil: "domcontentloaded" });
    while ((await resultsIn(results)).length <= round) await pause(50, undefined, { signal });
    const last = (await resultsIn(results)).at(-1);
    if (onNumber === undefined || last === undefined) continue;
    const found = await editor.page.waitForFunction("globalThis.pipelineRunsNumberAt", undefined, {
      timeout: 60_000,
    });
    await onNumber(last, { numberAt: Number(await found.jsonValue()), service });
  }
  return resultsIn(results);
}

/** Notes, in the page, when the extension's item of the status bar first shows the day's numbers. */
const numberWatch = `
new MutationObserver((_, observer) => {
  const item = document.querySelector('.statusbar-item[id="${ours}.quota"]');
  if (!/\\d+ of \\d+ runs/.test(item?.textContent ?? "")) return;
  globalThis.pipelineRunsNumberAt = Date.now();
  observer.disconnect();
}).observe(document, { subtree: true, childList: true, characterData: true });
`;

const aPipeline = "resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: echo hello\n";

async function resultsIn(file: string): Promise<Round[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.split("\n").flatMap((line): Round[] => (line === "" ? [] : [JSON.parse(line)]));
}

/** Packages a small extension of the publisher `bench`. @returns the path of the `.vsix`. */
async function packaged(
  work: string,
  manifest: { readonly name: string } & Readonly<Record<string, unknown>>,
  files: Readonly<Record<string, string>>,
): Promise<string> {
  const folder = join(work, manifest.name);
  await mkdir(folder);
  const whole = {
    publisher: "bench",
    version: "1.0.0",
    engines: { vscode: "^1.105.0" },
    activationEvents: [],
    ...manifest,
  };
  await writeFile(join(folder, "package.json"), JSON.stringify(whole));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const out = join(work, `${manifest.name}.vsix`);
  const quietly = ["--no-dependencies", "--allow-missing-repository", "--skip-license"];
  await execa("vsce", ["package", ...quietly, "--out", out], {
    cwd: folder,
    preferLocal: true,
    localDir: projectRoot,
  });
  return out;
}

function timesOf(measured: Round["measured"], id: string): Times {
  const times = measured[id];
  if (times === undefined) throw new Error(`${id} was not activated`);
  return times;
}

/** The modules of the extension that a window has loaded: their sum, then the largest. */
function sizesOf(title: string, round: Round | undefined): Table {
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
