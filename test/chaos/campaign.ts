import fc from "fast-check";
import type { Round } from "./round.ts";

/** What a campaign does to the programs, and what it holds them to. */
export interface CampaignDefinition<Act extends { readonly act: string }> {
  readonly name: string;
  /** One thing that happens. Its random choices are numbers in the act itself, so a replay makes the same ones. */
  readonly act: fc.Arbitrary<Act>;
  /** The most acts of a round, which has at least one. */
  readonly mostActs: number;
  /** How long a round may take, in milliseconds, before that is a fault; undefined: as long as any. */
  readonly longest?: number;
  /**
   * One round: sets up the programs in the round's folder, does `round.acts(planned)` one after another, checks
   * everything at the end, and leaves nothing behind. What it throws is a fault.
   */
  readonly play: (planned: readonly Act[], round: Round) => Promise<void>;
}

/** A campaign as the frame sees it, which knows nothing of its acts. */
export interface Campaign {
  readonly name: string;
  readonly longest: number | undefined;
  /** The round of a seed: the same acts each time. */
  readonly round: (seed: number) => PlannedRound;
}

interface PlannedRound {
  /** For the trace. */
  readonly acts: readonly unknown[];
  readonly play: (round: Round) => Promise<void>;
}

export function campaign<Act extends { readonly act: string }>({
  name,
  act,
  mostActs,
  longest,
  play,
}: CampaignDefinition<Act>): Campaign {
  const plans = fc
    .integer({ min: 1, max: mostActs })
    .chain((length) => fc.array(act, { minLength: length, maxLength: length, size: "max" }));
  return {
    name,
    longest,
    round(seed) {
      const [acts = []] = fc.sample(fc.noBias(plans), { seed, numRuns: 1 });
      return { acts, play: (round) => play(acts, round) };
    },
  };
}
