import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { followLog } from "../src/client/follow/followLog.ts";
import { ServiceClient } from "../src/client/service/client.ts";
import { environmentFetch } from "../src/client/service/environmentFetch.ts";
import { TemporaryFolder } from "../test/temporaryFolder.ts";
import type { Benchmark, Measured, Row, Setting } from "./benchmark.ts";
import { liftDay, MachineService, makeProject } from "./machineService.ts";
import { median } from "./median.ts";

const rounds = 21;
const warmUps = 3;
const line = "echo hello";
/** The same line, started by a Node that was started for it: what a run in a process of its own can't do without. */
const byNode = `require("node:child_process").spawn(${JSON.stringify(line)}, { shell: true, stdio: "inherit" })`;

/** From the request that starts a run to the first line that its first step prints. */
export const start: Benchmark = {
  name: "start",
  decides: "how long a person waits for the first sign of life of a run",
  measure,
};

async function measure({ signal }: Setting): Promise<Measured> {
  await using folder = await TemporaryFolder.make("pipeline-runs-bench");
  const data = join(folder.path, "data");
  await using service = await MachineService.start(data, signal);
  liftDay(data);
  const { url, token } = service.connection;
  const baseUrl = new URL(url);
  const client = new ServiceClient({ baseUrl, apiKey: token, fetch: environmentFetch(baseUrl, {}) });
  await client.putProject("project", await makeProject(folder.path, line), signal);

  const contestants = [
    { name: `spawn("${line}")`, firstLine: () => firstLineOf(line, true) },
    { name: "the same in a Node of its own", firstLine: () => firstLineOf(process.execPath, false) },
    {
      name: "POST /api/runs",
      firstLine: (round: number) => firstLineOfRun(client, `bench-${round}`, signal),
    },
  ];
  const times = contestants.map((): number[] => []);
  for (let round = -warmUps; round < rounds; round += 1) {
    for (let at = 0; at < contestants.length; at += 1) {
      signal.throwIfAborted();
      const which = (at + round + warmUps) % contestants.length;
      const milliseconds = (await contestants[which]?.firstLine(round)) ?? Number.NaN;
      if (round >= 0) times[which]?.push(milliseconds);
    }
  }
  const medianOf = (at: number) => median(times[at] ?? []);
  const rows = contestants.map(
    ({ name }, at): Row => ({
      name,
      figures: [
        { name: "median", value: medianOf(at), unit: "ms" },
        { name: "fastest", value: Math.min(...(times[at] ?? [])), unit: "ms" },
        { name: "ratio", value: medianOf(at) / medianOf(0), unit: "×", beside: "the bare spawn" },
        { name: "ratio to a Node", value: medianOf(at) / medianOf(1), unit: "×" },
      ],
    }),
  );
  return { kind: "measured", rounds, tables: [{ rows }] };
}

/** @returns the milliseconds until the line is printed. Returns when the program has ended. */
async function firstLineOf(file: string, shell: boolean): Promise<number> {
  const began = performance.now();
  const child = spawn(file, shell ? [] : ["-e", byNode], { shell, stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  await once(child.stdout, "data");
  const milliseconds = performance.now() - began;
  child.stdout.resume();
  await closed;
  return milliseconds;
}

/** The same by a run, which is over when this returns. */
async function firstLineOfRun(client: ServiceClient, name: string, signal: AbortSignal): Promise<number> {
  const began = performance.now();
  const idempotencyKey = `${name}-${began}`;
  // The end of the run before was sent, and its slot may be released a moment later.
  const attempt = await client.start({ pipeline: "hello" }, { waitSeconds: 60, idempotencyKey }, signal);
  if (attempt.kind !== "started") throw new Error(`a start was refused with scope ${attempt.refusal.scope}`);
  let milliseconds: number | undefined;
  const end = await followLog(
    client,
    attempt.run.runId,
    { follow: true },
    ({ stream }) => {
      if (stream === "stdout") milliseconds ??= performance.now() - began;
    },
    signal,
  );
  if (milliseconds === undefined || end?.status !== "succeeded")
    throw new Error(`a run ended as ${end?.status}`);
  return milliseconds;
}
