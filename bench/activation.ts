import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { execa } from "execa";
import { installHost } from "../scripts/editor/installHost.ts";
import { installVsix } from "../scripts/editor/installVsix.ts";
import { vsixFile } from "../scripts/editor/vsixFile.ts";
import { projectRoot } from "../scripts/projectRoot.ts";
import { sayToStandardError } from "../scripts/say.ts";
import { ServedEditor } from "../test/editor/served/servedEditor.ts";
import { endProcessesOf } from "../test/endProcessesOf.ts";
import { TemporaryFolder } from "../test/temporaryFolder.ts";
import type { Measured, Row, Size } from "./benchmark.ts";
import { median } from "./median.ts";

const rounds = 11;
/** The first windows read the editor's own files from the disk. */
const warmUps = 2;
/** How long a window is left alone before it is looked at what it has loaded, in milliseconds. */
const settleMilliseconds = 3000;

const ours = "pipeline-runs.pipeline-runs";
const empty = "bench.empty";

interface Times {
  readonly load: number;
  readonly activate: number;
}

interface Round {
  readonly measured: Readonly<Record<string, Times>>;
  /** The addresses of the modules that the extension host has loaded, the contestants' entries among them. */
  readonly loaded: readonly string[];
}

/**
 * How long the extension's module takes to load and its `activate` to return, beside an extension that does nothing, in
 * the extension host of a real VS Code: a fresh host each round, and the two in turns. Then what a window loads.
 */
export async function activation(): Promise<Measured> {
  const idle = await inWindows(rounds + warmUps, false);
  const [live] = await inWindows(1, true);
  const counted = idle.slice(warmUps);
  const row = (name: string, id: string, part: keyof Times): Row => {
    const times = counted.map(({ measured }) => timesOf(measured, id)[part]);
    const others = counted.map(({ measured }) => timesOf(measured, empty)[part]);
    return {
      name,
      medianMilliseconds: median(times),
      fastestMilliseconds: Math.min(...times),
      ratio: { to: `an empty extension's ${part}`, value: median(times) / median(others) },
    };
  };
  return {
    name: "activation",
    rounds,
    rows: [
      row("an empty extension: load", empty, "load"),
      row("an empty extension: activate", empty, "activate"),
      row("Pipeline Runs: load", ours, "load"),
      row("Pipeline Runs: activate", ours, "activate"),
    ],
    sizes: [
      ...(await sizesOf("loaded by a window without pipelines", counted[0])),
      ...(await sizesOf("loaded by a window with pipelines", live)),
      ...(await builtSizes()),
    ],
  };
}

/** Opens the same window again and again. @param hasPipelines whether its folder has any. */
async function inWindows(count: number, hasPipelines: boolean): Promise<Round[]> {
  const signal = new AbortController().signal;
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
  const none = 'import * as vscode from "vscode";\nexport function activate() {\n  void vscode.version;\n}\n';
  const driver = await readFile(join(import.meta.dirname, "activation/driver.cjs"), "utf8");
  for (const vsix of [
    await packaged(work.path, { name: "empty", main: "./main.js", type: "module" }, { "main.js": none }),
    await packaged(
      work.path,
      { name: "driver", main: "./driver.cjs", activationEvents: ["*"] },
      { "driver.cjs": driver },
    ),
  ]) {
    await installVsix(host, editor.dataFolder, vsix, signal);
  }
  for (let round = 0; round < count; round++) {
    const order = round % 2 === 0 ? [ours, empty] : [empty, ours];
    await writeFile(plan, JSON.stringify({ contestants: [ours, empty], order, results, settleMilliseconds }));
    await editor.page.goto(editor.server.address(folder), { waitUntil: "domcontentloaded" });
    while ((await resultsIn(results)).length <= round) await pause(50);
  }
  return resultsIn(results);
}

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

/** The modules of the extension that a window has loaded. */
async function sizesOf(group: string, round: Round | undefined): Promise<Size[]> {
  const files = (round?.loaded ?? []).flatMap(
    (url) => /\/pipeline-runs\.pipeline-runs-[^/]+\/(.+)$/.exec(url)?.[1] ?? [],
  );
  return Promise.all(
    [...new Set(files)].map(async (file) => ({ group, name: basename(file), bytes: await bytesOf(file) })),
  );
}

async function builtSizes(): Promise<Size[]> {
  const chunks = (await readdir(join(projectRoot, "dist/extension"))).map((name) => `dist/extension/${name}`);
  const built = await Promise.all(
    ["dist/extension.js", ...chunks].map(async (file) => ({
      group: "built for the editor",
      name: basename(file),
      bytes: await bytesOf(file),
    })),
  );
  const vsix = { group: "the package", name: basename(vsixFile), bytes: (await stat(vsixFile)).size };
  return [...built.sort((one, other) => other.bytes - one.bytes), vsix];
}

async function bytesOf(file: string): Promise<number> {
  return (await stat(join(projectRoot, file))).size;
}
