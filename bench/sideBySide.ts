import { spawnSync } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import type { Row } from "./benchmark.ts";
import { median } from "./median.ts";

export interface Contestant {
  readonly name: string;
  /** This Node when left out. */
  readonly command?: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** The name of the one that it is compared to, and what the ratio of the medians is meant to be at most. */
  readonly beside: string;
  readonly atMost?: number;
}

/** What comes before the first measured round: files and what Node keeps of them are read from memory then. */
const warmUps = 3;

/**
 * Runs each program once a round, in an order that turns from round to round, so that whatever else the machine does falls on
 * all of them alike. Measured is the time from before the process is made until it has ended.
 * @param settleMilliseconds how long nothing happens after each of them.
 * @returns the times of each, in milliseconds, by its name.
 * @throws Error when one of them fails.
 */
export async function timesSideBySide(
  contestants: readonly Omit<Contestant, "beside">[],
  rounds: number,
  settleMilliseconds = 0,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const times = new Map(contestants.map(({ name }) => [name, [] as number[]]));
  for (let round = -warmUps; round < rounds; round += 1) {
    for (let at = 0; at < contestants.length; at += 1) {
      const contestant = contestants[(at + round + warmUps) % contestants.length];
      if (contestant === undefined) continue;
      const milliseconds = runOnce(contestant);
      if (round >= 0) times.get(contestant.name)?.push(milliseconds);
      await pause(settleMilliseconds);
    }
  }
  return times;
}

/** The same as rows, each beside another. */
export async function sideBySide(
  contestants: readonly Contestant[],
  rounds: number,
  settleMilliseconds = 0,
): Promise<Row[]> {
  const times = await timesSideBySide(contestants, rounds, settleMilliseconds);
  const medianOf = (name: string) => median(times.get(name) ?? []);
  return contestants.map(({ name, beside, atMost }) => ({
    name,
    figures: [
      { name: "median", value: medianOf(name), unit: "ms" },
      { name: "fastest", value: Math.min(...(times.get(name) ?? [])), unit: "ms" },
      {
        name: "ratio",
        value: medianOf(name) / medianOf(beside),
        unit: "×",
        beside,
        ...(atMost === undefined ? {} : { goal: { atMost } }),
      },
    ],
  }));
}

function runOnce({ name, command = process.execPath, args, env, cwd }: Omit<Contestant, "beside">): number {
  const start = performance.now();
  const { status, stderr } = spawnSync(command, args, {
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
  });
  const milliseconds = performance.now() - start;
  if (status !== 0) throw new Error(`${name} ended with ${status}: ${stderr}`);
  return milliseconds;
}
