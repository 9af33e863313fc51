import { createHash } from "node:crypto";
import type { Campaign } from "./campaign.ts";
import { type PlayOptions, playRound } from "./playRound.ts";
import { type Counts, counted } from "./round.ts";
import { replayCommand } from "./trace.ts";

/** The result of a campaign. */
export interface Outcome {
  readonly campaign: string;
  readonly rounds: number;
  readonly counts: Counts;
  readonly faults: number;
}

export interface CampaignOptions extends Omit<PlayOptions, "isTimeUp"> {
  readonly campaigns: readonly Campaign[];
  readonly seed: number;
  readonly seconds: number;
}

const none: Counts = { acts: 0, kills: 0, starts: 0, refusals: 0, runs: 0, checks: 0 };

/**
 * Plays rounds of all campaigns, side by side, until the time is up. Each plays at least one, and begins none that is likely to
 * take longer than is left. The rounds' seeds derive from `seed`, so the same seed plays the same rounds in the same order.
 */
export async function runCampaigns(options: CampaignOptions): Promise<readonly Outcome[]> {
  const { campaigns, seed, seconds, signal, say, now = () => performance.now() } = options;
  const began = now();
  const over = began + seconds * 1000;
  const isTimeUp = () => now() >= over;
  // Even a round without acts takes time to set up and check.
  const wouldEndInTime = (rounds: number) => {
    const soFar = now() - began;
    return soFar + soFar / rounds <= over - began;
  };
  return Promise.all(
    campaigns.map(async (campaign) => {
      let rounds = 0;
      let counts = none;
      let faults = 0;
      while (!signal.aborted && (rounds === 0 || wouldEndInTime(rounds))) {
        const seedOfRound = roundSeed(seed, campaign.name, rounds);
        // The first round is never cut short, so that each act is tried however short the time.
        const isOver = rounds === 0 ? () => false : isTimeUp;
        const result = await playRound(campaign, seedOfRound, { ...options, isTimeUp: isOver });
        rounds += 1;
        counts = sum(counts, result.counts);
        faults += result.faults.length;
        for (const fault of result.faults) say(`${campaign.name}, round ${rounds}: ${fault}`);
        if (result.traceFile !== undefined) say(`Again: ${replayCommand(result.traceFile)}`);
      }
      return { campaign: campaign.name, rounds, counts, faults };
    }),
  );
}

/** Plays one round again. */
export async function replay(campaign: Campaign, seed: number, options: Omit<PlayOptions, "isTimeUp">) {
  const { counts, faults, traceFile } = await playRound(campaign, seed, {
    ...options,
    isTimeUp: () => false,
  });
  for (const fault of faults) options.say(`${campaign.name}: ${fault}`);
  if (traceFile !== undefined) options.say(`Trace: ${traceFile}`);
  return { campaign: campaign.name, rounds: 1, counts, faults: faults.length } satisfies Outcome;
}

export function sum(one: Counts, other: Counts): Counts {
  const result = { ...one };
  for (const what of counted) result[what] += other[what];
  return result;
}

function roundSeed(seed: number, campaign: string, round: number): number {
  return createHash("sha256").update(`${seed} ${campaign} ${round}`).digest().readUInt32LE() >>> 1;
}
