import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ServiceClient } from "../../src/client/service/client.ts";
import { environmentFetch } from "../../src/client/service/environmentFetch.ts";
import type { Setting, Table } from "../benchmark.ts";
import { liftDay, MachineService, makeProject } from "../machineService.ts";
import { median, quantile } from "../median.ts";
import { sharedNow } from "../worker/answerCalls.ts";
import { Worker } from "../worker/worker.ts";
import type { ServerCalls, WaiterCalls } from "./calls.ts";

const rounds = 40;
const warmUps = 3;

/**
 * The same with real runs of the built service: from the moment that a run's only program is about to exit until the
 * waiter has its reply. The floor spawns the line by itself.
 * @param folder where everything is put.
 * @returns undefined where `date` knows no nanoseconds.
 */
export async function measureRealRuns(folder: string, { signal }: Setting): Promise<Table | undefined> {
  if (process.platform !== "linux") return undefined;
  const lineInto = (file: string) => `sleep 0.1; date +%s%N >> '${file}'`;
  const [floorEnds, serviceEnds] = [join(folder, "floor-ends"), join(folder, "service-ends")];
  const data = join(folder, "data");
  const program = (name: string) => join(import.meta.dirname, `${name}.ts`);
  await using waiter = new Worker<WaiterCalls>(program("waiter"), []);
  await using floor = new Worker<ServerCalls>(program("floor"), [folder, lineInto(floorEnds)]);
  await using service = await MachineService.start(data, signal);
  liftDay(data);
  const { url, token } = service.connection;
  const baseUrl = new URL(url);
  const client = new ServiceClient({ baseUrl, apiKey: token, fetch: environmentFetch(baseUrl, {}) });
  await client.putProject("project", await makeProject(folder, lineInto(serviceEnds)), signal);

  const contestants = [
    {
      name: "a bare node:http that spawns the line",
      url: (await floor.call("open", 1)).url,
      key: "",
      ends: floorEnds,
    },
    { name: "the service, a bare request", url, key: token, ends: serviceEnds },
  ];
  const times = contestants.map((): number[] => []);
  for (let round = -warmUps; round < rounds; round += 1) {
    for (const [at, { url, key, ends }] of contestants.entries()) {
      signal.throwIfAborted();
      // One that holds the slot, and one that waits for it.
      await waiter.call("start", "bare", url, key);
      const started = await waiter.call("start", "bare", url, key);
      const ended = (await readFile(ends, "utf8")).trimEnd().split("\n")[2 * (round + warmUps)];
      if (round >= 0) times[at]?.push(started.at - (Number(ended) / 1e6 - wallClockAhead()));
    }
  }
  const floors = times[0] ?? [];
  return {
    title: `real runs, ${rounds} waits each`,
    rows: contestants.map(({ name }, at) => ({
      name,
      figures: [
        { name: "p50", value: median(times[at] ?? []), unit: "ms" },
        { name: "p99", value: quantile(times[at] ?? [], 0.99), unit: "ms" },
        { name: "p50 / floor's", value: median(times[at] ?? []) / median(floors), unit: "×" },
      ],
    })),
  };
}

/** How far the wall clock is ahead of `sharedNow`, in milliseconds, measured as it ticks. */
function wallClockAhead(): number {
  const before = Date.now();
  for (;;) {
    const now = Date.now();
    if (now !== before) return now - sharedNow();
  }
}
