import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { followLog } from "../src/client/follow/followLog.ts";
import { ServiceClient } from "../src/client/service/client.ts";
import { environmentFetch } from "../src/client/service/environmentFetch.ts";
import { TemporaryFolder } from "../test/temporaryFolder.ts";
import type { Benchmark, Figure, Goal, Measured, Row, Setting } from "./benchmark.ts";
import { liftDay, MachineService, makeProject } from "./machineService.ts";
import { median } from "./median.ts";

const rounds = 31;
const warmUps = 3;
const line = "echo hello";
/** The same line, started by a Node that was started for it: what a run in a process of its own can't do without. */
const byNode = `require("node:child_process").spawn(${JSON.stringify(line)}, { shell: true, stdio: "inherit" })`;
/** How long a service is left alone after a run, in milliseconds: it gets the next runner ready. */
const settleMilliseconds = 300;

/** From the request that starts a run to the first line that its first step prints. */
export const start: Benchmark = {
  name: "start",
  decides: "how long a person waits for the first sign of life of a run",
  measure,
};

async function measure({ signal }: Setting): Promise<Measured> {
  await using folder = await TemporaryFolder.make("pipeline-runs-bench");
  const root = await makeProject(folder.path, line);
  const data = join(folder.path, "data");
  await using service = await MachineService.start(data, signal);
  liftDay(data);
  const client = await clientOf(service, root, signal);
  // Whoever brings an environment may trust other certificates, for which another runner is kept ready.
  const other = join(folder.path, "other");
  await using otherService = await MachineService.start(other, signal);
  liftDay(other);
  const typical = await clientOf(otherService, root, signal, environmentOf(100, 8 * 1024));
  const large = await clientOf(otherService, root, signal, environmentOf(1000, 100 * 1024));

  /** @param chooses how long somebody takes to choose what to run, after the project was registered, in milliseconds. */
  const firstOfService = async (name: string, chooses: number) => {
    await using fresh = await MachineService.start(join(folder.path, name), signal);
    const its = await clientOf(fresh, root, signal);
    await pause(chooses, undefined, { signal });
    return await firstLineOfRun(its, signal);
  };
  const spawned = `spawn("${line}")`;
  const byOwnNode = "the same in a Node of its own";
  const post = "POST /api/runs";
  const contestants = [
    { name: spawned, firstLine: () => firstLineOf(line, true) },
    { name: byOwnNode, firstLine: () => firstLineOf(process.execPath, false) },
    { name: post, firstLine: () => firstLineOfRun(client, signal) },
    {
      name: "a service's first one, at once, as by the tool",
      firstLine: (round: number) => firstOfService(`fresh-${round}`, 0),
    },
    {
      name: "a service's first one, a moment later, as in the editor",
      firstLine: (round: number) => firstOfService(`chosen-${round}`, settleMilliseconds),
    },
    { name: "with 100 variables, 8 KiB", firstLine: () => firstLineOfRun(typical, signal) },
    { name: "with 1,000 variables, 100 KiB", firstLine: () => firstLineOfRun(large, signal) },
  ];
  const times = contestants.map((): number[] => []);
  for (let round = -warmUps; round < rounds; round += 1) {
    for (let at = 0; at < contestants.length; at += 1) {
      const which = (at + round + warmUps) % contestants.length;
      const milliseconds = (await contestants[which]?.firstLine(round)) ?? Number.NaN;
      if (round >= 0) times[which]?.push(milliseconds);
      await pause(settleMilliseconds, undefined, { signal });
    }
  }
  const medians = contestants.map((_, at) => median(times[at] ?? []));
  const goals: readonly { readonly spawned?: Goal; readonly byOwnNode?: Goal }[] = [
    {},
    {},
    { spawned: { atMost: 5 } },
    { byOwnNode: { atMost: 1.8 } },
    { byOwnNode: { atMost: 1.8 } },
  ];
  const ratio = (at: number, name: string, beside: string, goal?: Goal): Figure => ({
    name,
    value:
      (medians[at] ?? Number.NaN) /
      (medians[contestants.findIndex((other) => other.name === beside)] ?? Number.NaN),
    unit: "×",
    beside,
    ...(goal && { goal }),
  });
  const rows = contestants.map(
    ({ name }, at): Row => ({
      name,
      figures: [
        { name: "median", value: medians[at] ?? Number.NaN, unit: "ms" },
        { name: "fastest", value: Math.min(...(times[at] ?? [])), unit: "ms" },
        ratio(at, "to the spawn", spawned, goals[at]?.spawned),
        ratio(at, "to the Node", byOwnNode, goals[at]?.byOwnNode),
        ratio(at, "to the POST", post),
      ],
    }),
  );
  return { kind: "measured", rounds, tables: [{ rows }] };
}

async function clientOf(
  { connection: { url, token } }: MachineService,
  root: string,
  signal: AbortSignal,
  environment?: Readonly<Record<string, string>>,
): Promise<ServiceClient> {
  const baseUrl = new URL(url);
  const fetch = environmentFetch(baseUrl, {});
  const client = new ServiceClient({ baseUrl, apiKey: token, fetch, environment });
  await client.putProject("project", root, signal);
  return client;
}

/** This process's environment, filled up to so many variables and bytes. */
function environmentOf(variables: number, bytes: number): Record<string, string> {
  const own = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const more = variables - own.length;
  const room = (bytes - own.flat().join("").length) / more;
  return Object.fromEntries([
    ...own,
    ...Array.from({ length: Math.max(0, more) }, (_, index): [string, string] => {
      const name = `VARIABLE_${index}`;
      return [name, "x".repeat(Math.max(0, room - name.length))];
    }),
  ]);
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
async function firstLineOfRun(client: ServiceClient, signal: AbortSignal): Promise<number> {
  const began = performance.now();
  const idempotencyKey = randomUUID();
  const attempt = await client.start({ pipeline: "hello" }, { waitSeconds: 0, idempotencyKey }, signal);
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
