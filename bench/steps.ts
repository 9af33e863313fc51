import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { installOnDemand } from "../scripts/process/installOnDemand.ts";
import { projectRoot } from "../scripts/projectRoot.ts";
import { TemporaryFolder } from "../test/temporaryFolder.ts";
import type { Benchmark, Figure, Measured, Row, Setting } from "./benchmark.ts";
import { liftDay, MachineService } from "./machineService.ts";
import { median } from "./median.ts";
import { type Contestant, timesSideBySide } from "./sideBySide.ts";

const rounds = 7;
/** In which the service gets the next runner ready. */
const settleMilliseconds = 300;
const few = 300;
const many = 1000;

/** What one more step of a run costs, beside doing the same without a tool and beside other tools. */
export const steps: Benchmark = {
  name: "steps",
  decides: "what a step costs beside what it does",
  measure,
};

type Program = Omit<Contestant, "name" | "beside">;

/** A way to do the same thing a number of times. */
interface Way {
  readonly name: string;
  readonly counts: readonly number[];
  readonly program: (count: number) => Program;
}

const bareRequests = `
const { request } = require("undici");
(async () => {
  for (let left = Number(process.argv[1]); left > 0; left -= 1) {
    const { statusCode, body } = await request(process.env.BENCH_URL);
    if (statusCode !== 200 || (await body.json()).ok !== true) process.exit(1);
  }
  process.exit();
})();`;

const bareSpawns = `
const { spawn } = require("node:child_process");
const { once } = require("node:events");
(async () => {
  for (let left = Number(process.argv[1]); left > 0; left -= 1) {
    const child = spawn("sh", ["-c", "echo hello"], { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    child.stdout.on("data", (data) => { output += data; });
    await once(child, "close");
    if (output !== "hello\\n") process.exit(1);
  }
})();`;

async function measure({ signal, say }: Setting): Promise<Measured> {
  const peers = join(import.meta.dirname, "steps/peers");
  await installOnDemand(
    { name: "newman and stepci", size: "about 155 MB", folder: peers, finish: async () => {} },
    say,
    signal,
  );
  await using folder = await TemporaryFolder.make("pipeline-runs-bench");
  const server = spawn(process.execPath, [join(import.meta.dirname, "steps/server.ts")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [first] = (await once(server.stdout, "data", { signal })) as [Buffer];
    const url = first.toString().trim();
    const data = join(folder.path, "data");
    await using _service = await MachineService.start(data, signal);
    liftDay(data);
    const ours = await makePipelines(folder.path, data, url);
    const tool = (name: string) => join(peers, "node_modules", name);
    const requests: readonly Way[] = [
      {
        name: "undici, in a loop",
        counts: [1, few],
        program: (count) => ({
          args: ["-e", bareRequests, String(count)],
          env: { BENCH_URL: url },
          cwd: projectRoot,
        }),
      },
      { name: "pipeline run, http steps", counts: [1, few, many], program: (count) => ours("http", count) },
      {
        name: "newman",
        counts: [1, few],
        program: (count) => ({
          args: [tool("newman/bin/newman.js"), "run", join(folder.path, `newman-${count}.json`)],
        }),
      },
      {
        name: "stepci",
        counts: [1, few],
        program: (count) => ({
          args: [tool("stepci/dist/index.js"), "run", join(folder.path, `stepci-${count}.yml`)],
          env: { STEPCI_DISABLE_ANALYTICS: "1" },
        }),
      },
    ];
    const programs: readonly Way[] = [
      {
        name: "spawn, in a loop",
        counts: [1, few],
        program: (count) => ({ args: ["-e", bareSpawns, String(count)] }),
      },
      { name: "pipeline run, cli steps", counts: [1, few, many], program: (count) => ours("cli", count) },
    ];
    for (const count of [1, few]) await makePeersFiles(folder.path, url, count);
    return {
      kind: "measured",
      rounds,
      tables: [
        { title: "a request", rows: await rowsOf(requests, 3) },
        { title: "echo", rows: await rowsOf(programs, 1.5) },
      ],
    };
  } finally {
    server.kill();
  }
}

/** The first way is what the others are compared to, and the second is ours. */
async function rowsOf(ways: readonly Way[], atMost: number): Promise<Row[]> {
  const nameOf = (way: string, count: number) => `${way} × ${count}`;
  const contestants = ways.flatMap(({ name, counts, program }) =>
    counts.map((count) => ({ ...program(count), name: nameOf(name, count) })),
  );
  const times = await timesSideBySide(contestants, rounds, settleMilliseconds);
  const medianOf = (way: string, count: number) => median(times.get(nameOf(way, count)) ?? []);
  /** What each but the first costs, in milliseconds: starting and ending is left out. */
  const perStep = (way: string, count: number) => (medianOf(way, count) - medianOf(way, 1)) / (count - 1);
  const [bare, ours] = ways;
  return ways.map(({ name, counts }) => {
    const figures: Figure[] = [
      { name: `${few} of them`, value: medianOf(name, few), unit: "ms" },
      { name: "one more", value: perStep(name, few), unit: "ms" },
    ];
    if (bare !== undefined && name !== bare.name) {
      figures.push({
        name: "one more / bare",
        value: perStep(name, few) / perStep(bare.name, few),
        unit: "×",
        beside: bare.name,
        ...(name === ours?.name ? { goal: { atMost } } : {}),
      });
    }
    if (counts.includes(many)) {
      figures.push({
        name: `one more of ${many} / of ${few}`,
        value: perStep(name, many) / perStep(name, few),
        unit: "×",
        beside: `its own of ${few}`,
        goal: { atMost: 1.2 },
      });
    }
    return { name, figures };
  });
}

/** Makes a project with a pipeline for each kind and number of steps. @returns what runs one of them. */
async function makePipelines(folder: string, data: string, url: string) {
  const root = join(folder, "project");
  await mkdir(join(root, "pipelines"), { recursive: true });
  const kinds = {
    http: {
      resource: `{ type: http, base-url: "${url}" }`,
      step: "{ use: it, get: /, expect: { status: 200 } }",
    },
    cli: { resource: "{ type: cli }", step: "{ use: it, run: echo hello }" },
  };
  for (const [kind, { resource, step }] of Object.entries(kinds)) {
    for (const count of [1, few, many]) {
      const lines = ["time-limit: 5m", `resources: { it: ${resource} }`, "steps:"];
      const all = [...lines, ...Array.from({ length: count }, () => `  - ${step}`), ""];
      await writeFile(join(root, `pipelines/${kind}-${count}.yaml`), all.join("\n"));
    }
  }
  const env = { PIPELINE_DATA_DIR: data, PIPELINE_CACHE_DIR: join(folder, "cache") };
  return (kind: keyof typeof kinds, count: number): Program => ({
    args: [join(projectRoot, "dist/cli.js"), "run", `${kind}-${count}`],
    env,
    cwd: root,
  });
}

async function makePeersFiles(folder: string, url: string, count: number): Promise<void> {
  const each = <T>(make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index));
  const collection = {
    info: { name: "bench", schema: "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" },
    item: each((index) => ({ name: `request ${index}`, request: { method: "GET", url: `${url}/` } })),
  };
  await writeFile(join(folder, `newman-${count}.json`), JSON.stringify(collection));
  const http = { url: `${url}/`, method: "GET", check: { status: 200 } };
  const workflow = {
    version: "1.1",
    name: "bench",
    tests: { all: { steps: each((index) => ({ name: `request ${index}`, http })) } },
  };
  // YAML takes JSON.
  await writeFile(join(folder, `stepci-${count}.yml`), JSON.stringify(workflow));
}
