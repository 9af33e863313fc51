import { parseArgs } from "node:util";
import { Problem } from "../../scripts/problem.ts";

export interface Options {
  readonly seconds: number;
  readonly seed: number;
  /** Undefined: all of them. */
  readonly campaigns: readonly string[] | undefined;
  /** A trace whose round is replayed instead of new ones. */
  readonly replay: string | undefined;
}

const help = "npm run chaos -- [--seconds <n>] [--seed <n>] [--campaign <name>]… [--replay <trace>]";

/** @throws Problem for invalid arguments. */
export function readOptions(words: readonly string[], names: readonly string[], now: number): Options {
  const { seconds, seed, campaign, replay } = parse(words);
  const unknown = campaign?.filter((name) => !names.includes(name)) ?? [];
  if (unknown.length > 0) {
    throw new Problem(`There is no campaign ${unknown.join(", ")}.`, `There are: ${names.join(", ")}.`);
  }
  return {
    seconds: wholeNumber("seconds", seconds ?? "60"),
    seed: wholeNumber("seed", seed ?? String(now % 2 ** 31)),
    campaigns: campaign,
    replay,
  };
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      options: {
        seconds: { type: "string" },
        seed: { type: "string" },
        campaign: { type: "string", multiple: true },
        replay: { type: "string" },
      },
    }).values;
  } catch (cause) {
    throw new Problem(cause instanceof Error ? cause.message : String(cause), help, { cause });
  }
}

function wholeNumber(name: string, word: string): number {
  if (/^\d{1,9}$|^1\d{9}$|^2[01]\d{8}$/.test(word)) return Number(word);
  throw new Problem(`--${name} takes a whole number below 2,200,000,000, not \`${word}\`.`, help);
}
