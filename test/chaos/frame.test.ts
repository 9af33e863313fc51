import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { itOn } from "../itOn.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";
import { campaign } from "./campaign.ts";
import { readOptions } from "./options.ts";
import type { Round } from "./round.ts";
import { replay, runCampaigns } from "./runCampaigns.ts";
import { table } from "./table.ts";
import { readTrace } from "./trace.ts";

const act = fc.record({ act: fc.constant("count" as const), number: fc.nat() });
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

/** A campaign whose rounds do what the test says; `played` has the numbers of each. */
function pretended(atEnd: (round: Round, numbers: readonly number[]) => void | Promise<void>) {
  const played: number[][] = [];
  const made = campaign<Act>({
    name: "pretended",
    act,
    mostActs: 20,
    async play(planned, round) {
      const numbers: number[] = [];
      for (const { number } of round.acts(planned)) numbers.push(number);
      played.push(numbers);
      await atEnd(round, numbers);
    },
  });
  return { campaign: made, played };
}

async function ran(
  made: ReturnType<typeof pretended>["campaign"],
  {
    longest,
    patience,
    seconds = 0,
    isReplayed = false,
    now = () => performance.now(),
  }: {
    readonly longest?: number;
    readonly patience?: number;
    readonly seconds?: number;
    readonly isReplayed?: boolean;
    readonly now?: () => number;
  } = {},
) {
  await using results = await TemporaryFolder.make();
  const told: string[] = [];
  const given = {
    signal: new AbortController().signal,
    say: (line: string) => told.push(line),
    results: results.path,
    ...(longest === undefined ? {} : { longest }),
    ...(patience === undefined ? {} : { patience }),
  };
  const [outcome] = await runCampaigns({ ...given, campaigns: [made], seed: 42, seconds, now });
  assert(outcome !== undefined);
  const file = told.flatMap((line) => /--replay (.*)$/.exec(line)?.[1] ?? [])[0];
  const lines = file === undefined ? "" : await readFile(file, "utf8");
  if (file === undefined || !isReplayed) return { outcome, told, lines };
  const { seed } = await readTrace(file);
  return { outcome, told, lines, again: await replay(made, seed, given) };
}

describe("the chaos tests's frame", () => {
  it("counts what was done and looked at, and finds nothing where nothing is wrong", async () => {
    const { campaign: made } = pretended((round) => {
      round.count("kills", 2);
      round.checkSame([1], [1], "lists differ");
    });
    const { outcome, told } = await ran(made);
    const { acts, kills } = outcome.counts;
    assert.deepEqual([outcome.rounds, kills, outcome.faults, told], [1, 2, 0, []]);
    assert(acts > 0);
  });

  it("tells a check that failed, writes its trace and folder down, and plays the same acts again", async () => {
    const { campaign: made, played } = pretended(async (round) => {
      await writeFile(join(round.folder, "kept"), "");
      round.check(false, "two is one", { two: 2 });
      round.check(false, "two is one");
    });
    const { outcome, told, lines, again } = await ran(made, { isReplayed: true });
    assert.equal(outcome.faults, 1);
    assert.match(told[0] ?? "", /^pretended, round 1: two is one$/);
    assert.match(lines, /"what":"FAULT: two is one","facts":\{"two":2\}/);
    assert.equal(again?.faults, 1);
    assert.deepEqual(played[1], played[0]);
    assert((played[0]?.length ?? 0) > 0);
    assert.deepEqual(table([outcome], { seed: 42, seconds: 1.2 }).at(-1)?.slice(0, 7), "1 fault");
  });

  it("takes a round that throws, and one that doesn't end, for faults", async () => {
    const broken = await ran(
      pretended(() => {
        throw new Error("no such thing");
      }).campaign,
    );
    assert.match(broken.told[0] ?? "", /the round broke off: no such thing/);
    const endless = await ran(
      pretended(
        (round) =>
          new Promise((_, reject) =>
            round.signal.addEventListener("abort", () => reject(round.signal.reason)),
          ),
      ).campaign,
      { longest: 50 },
    );
    assert.match(endless.told[0] ?? "", /the round broke off: it took more than 0.05 s/);
  });

  it("does fewer acts in a round that would take too long, and finds no fault in that", async () => {
    let most = 0;
    let milliseconds = 0;
    const slow = campaign<Act>({
      name: "slow",
      act,
      mostActs: 20,
      async play(planned, round) {
        most = planned.length;
        for (const _ of round.acts(planned)) milliseconds += 30_000;
        round.check(true, "");
      },
    });
    const { outcome, told } = await ran(slow, { now: () => milliseconds });
    const { acts } = outcome.counts;
    assert(acts > 0 && acts < most, `${acts} of ${most}`);
    assert.deepEqual(told, []);
  });

  it("begins no round that is likely to go on when the time is up", async () => {
    let milliseconds = 0;
    const { campaign: made, played } = pretended(() => {
      milliseconds += 100;
    });
    await ran(made, { seconds: 0.15, now: () => milliseconds });
    assert.equal(played.length, 1);
    await ran(made, { seconds: 0.35, now: () => milliseconds });
    assert.equal(played.length, 1 + 3);
  });

  // Other systems don't show whose a process is.
  itOn("linux", "takes a process that is left behind for a fault, and ends it", async () => {
    let pid: number | undefined;
    const { campaign: made } = pretended((round) => {
      pid ??= spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], {
        env: { ...process.env, ...round.environment },
        stdio: "ignore",
      }).pid;
    });
    const { told } = await ran(made, { patience: 500 });
    assert.match(told[0] ?? "", /a process has outlived the round/);
    assert(pid !== undefined && !existsSync(`/proc/${pid}/exe`));
  });

  it("plays other rounds with another seed, and the same with the same", () => {
    const { campaign: made } = pretended(() => {});
    assert.deepEqual(made.round(1).acts, made.round(1).acts);
    assert.notDeepEqual(made.round(1).acts, made.round(2).acts);
  });

  it("refuses a call that means nothing", () => {
    const read = (...words: string[]) => readOptions(words, ["processes"], 7);
    assert.deepEqual(read(), { seconds: 60, seed: 7, campaigns: undefined, replay: undefined });
    assert.deepEqual(read("--seconds", "5", "--seed", "42", "--campaign", "processes"), {
      seconds: 5,
      seed: 42,
      campaigns: ["processes"],
      replay: undefined,
    });
    for (const words of [
      ["--seconds", "x"],
      ["--seed", "-1"],
      ["--campaign", "none"],
      ["--what"],
      ["word"],
    ]) {
      assert.throws(() => read(...words), { name: "Problem" });
    }
  });
});
