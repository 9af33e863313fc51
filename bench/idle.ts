import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { findProcesses } from "../scripts/process/findProcesses.ts";
import { vsixFile } from "../scripts/projectRoot.ts";
import { followRun } from "../src/client/follow/followRun.ts";
import { ServiceClient } from "../src/client/service/client.ts";
import { servedEditor } from "../test/editor/served/servedEditor.ts";
import { endProcessesOf } from "../test/endProcessesOf.ts";
import { TemporaryFolder } from "../test/temporaryFolder.ts";
import type { Benchmark, Measured, NotMeasured, Row, Setting } from "./benchmark.ts";
import { MachineService, makeProject } from "./machineService.ts";
import { memoryOf, type Usage, usageOf } from "./processUsage.ts";

/** What has just started does not idle yet, in milliseconds. */
const settle = 20_000;
/** How long idle processes are measured. */
const idleSeconds = 60;
const mark = "PIPELINE_RUNS_BENCH_IDLE";

/** What the service and the extension use while nobody does anything. */
export const idle: Benchmark = {
  name: "idle",
  decides: "what an open window and its service cost a laptop that nobody touches",
  measure,
};

interface Watched {
  readonly name: string;
  readonly pid: number;
  /** The name of the one that it is set beside. */
  readonly beside?: string;
}

async function measure({ signal, say }: Setting): Promise<Measured | NotMeasured> {
  if (process.platform !== "linux") {
    return { kind: "not-measured", why: "only Linux tells how often a process is woken" };
  }
  await using held = new AsyncDisposableStack();
  const { path: work } = held.use(await TemporaryFolder.make("pipeline-runs-bench"));
  const start = async (name: string) => held.use(await MachineService.start(join(work, name), signal));
  const alone = await start("alone");
  const faced = await start("faced");
  const ready = await readyRunner(work, await start("ready"), signal);
  const face = new AbortController();
  const events = await fetch(`${faced.connection.url}/api/events`, {
    headers: { accept: "text/event-stream", "x-api-key": faced.connection.token },
    signal: face.signal,
  });
  const listening = events.body?.pipeTo(new WritableStream(), { signal: face.signal }).catch(() => {});
  held.defer(async () => {
    face.abort();
    await listening;
  });

  const data = join(work, "editor");
  await mkdir(data);
  held.defer(() => endProcessesOf(data));
  const folder = await makeProject(work, "echo hello");
  await openEditor(held, { folder, env: { [mark]: "without" } }, signal);
  await openEditor(
    held,
    { folder, vsix: vsixFile, env: { [mark]: "with", PIPELINE_DATA_DIR: data } },
    signal,
  );
  const without = "an extension host without us";
  const watched: readonly Watched[] = [
    { name: "the service, without a face", pid: alone.connection.pid },
    {
      name: "the service, a face signed in",
      pid: faced.connection.pid,
      beside: "the service, without a face",
    },
    { name: "a runner kept ready", pid: ready },
    { name: without, pid: await extensionHost("without", signal) },
    { name: "an extension host with us", pid: await extensionHost("with", signal), beside: without },
  ];
  await pause(settle, undefined, { signal });
  say(`measuring for ${idleSeconds} s…`);
  const before = await Promise.all(watched.map(({ pid }) => usageOf(pid)));
  await pause(idleSeconds * 1000, undefined, { signal });
  const after = await Promise.all(watched.map(({ pid }) => usageOf(pid)));
  const perMinute = watched.map((_, at): Usage => {
    const [from, to] = [before[at], after[at]];
    if (from === undefined || to === undefined) throw new Error("a process was not measured");
    const minutes = idleSeconds / 60;
    return {
      milliseconds: (to.milliseconds - from.milliseconds) / minutes,
      wakeUps: (to.wakeUps - from.wakeUps) / minutes,
    };
  });
  const memory = await Promise.all(watched.map(({ pid }) => memoryOf(pid)));
  const rows = watched.map(({ name, beside }, at): Row => {
    const own = perMinute[at] ?? { milliseconds: Number.NaN, wakeUps: Number.NaN };
    const other = perMinute[watched.findIndex((one) => one.name === beside)];
    return {
      name,
      figures: [
        { name: "processor, a minute", value: own.milliseconds, unit: "ms" },
        { name: "wake-ups, a minute", value: Math.round(own.wakeUps), unit: "count" },
        { name: "memory", value: memory[at] ?? Number.NaN, unit: "bytes" },
        ...(other === undefined
          ? []
          : ([
              { name: "more processor", value: own.milliseconds - other.milliseconds, unit: "ms" },
              { name: "more wake-ups", value: Math.round(own.wakeUps - other.wakeUps), unit: "count" },
            ] as const)),
      ],
    };
  });
  return { kind: "measured", rounds: 1, tables: [{ title: `${idleSeconds} s of nothing`, rows }] };
}

/** Has a service run something. @returns the process that it keeps for the next run. */
async function readyRunner(
  work: string,
  { connection }: MachineService,
  signal: AbortSignal,
): Promise<number> {
  const client = new ServiceClient({ baseUrl: new URL(connection.url), apiKey: connection.token });
  await client.putProject("project", await makeProject(join(work, "ready"), "echo hello"), signal);
  const how = { waitSeconds: 0, idempotencyKey: "first" };
  const attempt = await client.start({ pipeline: "hello" }, how, signal);
  if (attempt.kind !== "started") throw new Error(`a start was refused with scope ${attempt.refusal.scope}`);
  await followRun(client, attempt.run, () => {}, signal);
  for (;;) {
    const found = await findProcesses({ PIPELINE_DATA_DIR: join(work, "ready") });
    const runner = found.find(({ words }) => words.some((word) => word.endsWith("runner.js")));
    if (runner !== undefined) return runner.pid;
    await pause(100, undefined, { signal });
  }
}

async function openEditor(
  held: AsyncDisposableStack,
  options: { readonly folder: string; readonly vsix?: string; readonly env: NodeJS.ProcessEnv },
  signal: AbortSignal,
): Promise<void> {
  const editor = held.use(await servedEditor({ smoke: false, ...options }, signal));
  await editor.page.goto(editor.server.address(options.folder), { waitUntil: "domcontentloaded" });
}

/** The process in which the extensions of the editor with this mark run, once it is there. */
async function extensionHost(marked: string, signal: AbortSignal): Promise<number> {
  for (;;) {
    const found = (await findProcesses({ [mark]: marked })).find(({ words }) =>
      words.includes("--type=extensionHost"),
    );
    if (found !== undefined) return found.pid;
    await pause(100, undefined, { signal });
  }
}
