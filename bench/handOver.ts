import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { TemporaryFolder } from "../test/temporaryFolder.ts";
import type { Benchmark, Measured, Row, Setting } from "./benchmark.ts";
import type { ServerCalls, Started, WaiterCalls, Way } from "./handOver/calls.ts";
import { measureRealRuns } from "./handOver/realRuns.ts";
import { median, quantile } from "./median.ts";
import { Worker } from "./worker/worker.ts";

const rounds = 400;
/** Before anything counts: code is compiled, connections are made. */
const warmUps = 40;
/** Waits of each way that polls, all at once, each in an org of its own. */
const polls = 40;
/** When the run that holds a polled slot ends, in milliseconds after the wait began: any moment in between. */
const endsAfter = { earliest: 4_000, latest: 14_000 } as const;

/** From the moment that a run's processes are gone to the reply 201 in the hands of who has waited for its slot. */
export const handOver: Benchmark = {
  name: "handOver",
  decides: "whether who waits for a slot gets it at once, and what the wait costs the service",
  measure,
};

interface Waited {
  /** Since the processes of the run that held the slot were gone. */
  readonly milliseconds: number;
  readonly requests: number;
}

async function measure(setting: Setting): Promise<Measured> {
  const { signal, say } = setting;
  await using folder = await TemporaryFolder.make("pipeline-runs-bench");
  const program = (name: string) => join(import.meta.dirname, "handOver", `${name}.ts`);
  await using floor = new Worker<ServerCalls>(program("floor"), [folder.path]);
  await using service = new Worker<ServerCalls>(program("service"), [folder.path]);
  await using waiter = new Worker<WaiterCalls>(program("waiter"), []);
  const ofFloor = { server: floor, ...(await floor.call("open", 1)) };
  const ofService = { server: service, ...(await service.call("open", 1 + 2 * polls)) };

  const held = [
    { name: "a bare node:http, one commit", way: "bare", ...ofFloor },
    { name: "the service, a bare request", way: "bare", ...ofService },
    { name: "the service, our client", way: "client", ...ofService },
  ] as const;
  for (const { url, keys } of [ofFloor, ofService]) await waiter.call("start", "bare", url, keys[0] ?? "");
  const waits = held.map((): Waited[] => []);
  for (let round = -warmUps; round < rounds; round += 1) {
    for (let at = 0; at < held.length; at += 1) {
      signal.throwIfAborted();
      const which = (at + round + warmUps) % held.length;
      const contestant = held[which];
      if (contestant === undefined) continue;
      const waited = await waitOnce(waiter, contestant, 0, () => 5 + Math.random() * 5, signal);
      if (round >= 0) waits[which]?.push(waited);
    }
  }

  say(`${2 * polls} waits by polling…`);
  const polled = async (way: Way, first: number): Promise<Waited[]> =>
    Promise.all(
      Array.from({ length: polls }, async (_, at) => {
        const contestant = { way, ...ofService };
        await waiter.call("start", "bare", ofService.url, ofService.keys[first + at] ?? "");
        return waitOnce(waiter, contestant, first + at, randomMoment, signal);
      }),
    );
  const [unheld, every3Seconds] = await Promise.all([
    polled("client-unheld", 1),
    polled("every-3-s", 1 + polls),
  ]);

  say("real runs…");
  await using ownFolder = await TemporaryFolder.make("pipeline-runs-bench");
  const real = await measureRealRuns(ownFolder.path, setting);

  const atFloor = waits[0] ?? [];
  return {
    kind: "measured",
    rounds,
    tables: [
      {
        title: `held requests, ${rounds} waits each`,
        rows: held.map(({ name, way }, at) => row(name, waits[at] ?? [], atFloor, way === "client")),
      },
      {
        title: `polling, ${polls} waits each`,
        rows: [
          row("our client, a service that holds no request", unheld, atFloor, false),
          row("a request every 3 s", every3Seconds, atFloor, false),
        ],
      },
      ...(real === undefined ? [] : [real]),
    ],
  };
}

interface Contestant {
  readonly server: Worker<ServerCalls>;
  readonly way: Way;
  readonly url: string;
  readonly keys: readonly string[];
}

/** One wait while another run holds the slot. @param ends when that ends, in milliseconds after the wait began. */
async function waitOnce(
  waiter: Worker<WaiterCalls>,
  { server, way, url, keys }: Contestant,
  org: number,
  ends: () => number,
  signal: AbortSignal,
): Promise<Waited> {
  const started = waiter.call("start", way, url, keys[org] ?? "");
  // Awaited below, also when something else fails before.
  started.catch(() => {});
  if (way === "bare" || way === "client") await server.call("someoneWaits");
  await pause(ends(), undefined, { signal });
  const gone = await server.call("endRun", org);
  const { at: startedAt, requests }: Started = await started;
  return { milliseconds: startedAt - gone, requests };
}

function randomMoment(): number {
  const { earliest, latest } = endsAfter;
  return earliest + Math.random() * (latest - earliest);
}

function row(name: string, waited: readonly Waited[], floor: readonly Waited[], isOurs: boolean): Row {
  const times = (of: readonly Waited[]) => of.map(({ milliseconds }) => milliseconds);
  const p50 = median(times(waited));
  const p99 = quantile(times(waited), 0.99);
  const requests = waited.map((one) => one.requests);
  const goal = isOurs ? { goal: { atMost: 2 } } : {};
  return {
    name,
    figures: [
      { name: "p50", value: p50, unit: "ms" },
      { name: "p99", value: p99, unit: "ms" },
      { name: "p50 / floor's", value: p50 / median(times(floor)), unit: "×", ...goal },
      { name: "p99 / floor's", value: p99 / quantile(times(floor), 0.99), unit: "×" },
      {
        name: "requests a wait",
        value: requests.reduce((sum, one) => sum + one, 0) / requests.length,
        unit: "count",
        ...goal,
      },
    ],
  };
}
