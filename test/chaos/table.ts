import { counted } from "./round.ts";
import { type Outcome, sum } from "./runCampaigns.ts";

/** The campaigns' figures as a table, with a summary as its last line. */
export function table(
  outcomes: readonly Outcome[],
  { seed, seconds }: { readonly seed: number; readonly seconds: number },
): readonly string[] {
  const heads = ["rounds", ...counted, "faults"];
  const cells = ({ rounds, counts, faults }: Omit<Outcome, "campaign">) => [
    rounds,
    ...counted.map((what) => counts[what]),
    faults,
  ];
  const row = (name: string, words: readonly string[]) =>
    name.padEnd(14) + words.map((word) => word.padStart(10)).join("");
  const all = outcomes.reduce<Omit<Outcome, "campaign">>(
    (total, { rounds, counts, faults }) => ({
      rounds: total.rounds + rounds,
      counts: sum(total.counts, counts),
      faults: total.faults + faults,
    }),
    { rounds: 0, counts: { acts: 0, kills: 0, starts: 0, refusals: 0, runs: 0, checks: 0 }, faults: 0 },
  );
  const { rounds, counts, faults } = all;
  return [
    row("campaign", heads),
    ...outcomes.map((outcome) => row(outcome.campaign, cells(outcome).map(written))),
    "",
    `${many(faults, "fault")} in ${many(counts.checks, "check")}: ${many(rounds, "round")}, ${many(counts.kills, "kill")}, ${many(counts.starts, "start")}, ${Math.round(seconds)} s, seed ${seed}`,
  ];
}

function many(count: number, what: string): string {
  return `${written(count)} ${what}${count === 1 ? "" : "s"}`;
}

function written(count: number): string {
  return count.toLocaleString("en-US");
}
