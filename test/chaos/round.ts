import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { endMarked } from "../../scripts/process/findProcesses.ts";
import { projectRoot } from "../../scripts/projectRoot.ts";
import { itOn } from "../itOn.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";

/** How many rounds each campaign plays. `npm run chaos` says more, which takes another seed each time. */
const { ROUNDS: rounds, SEED: seed = String(rounds === undefined ? 20_261_132 : Date.now() % 2 ** 31) } =
  process.env;
/** How long a round may do something, and how long it may take as a whole, in milliseconds. */
const actsFor = 90_000;
const longest = 300_000;
/** Set in the environment of every process of a round: a service keeps names of this kind. */
const markVariable = "XDG_PIPELINE_FAULTS_MARK";

interface Campaign<Act extends { readonly act: string }> {
  /** What is kept of a round with a fault is called so. */
  readonly name: string;
  /** One thing that happens. Its random choices are numbers in the act itself, so a seed makes the same ones again. */
  readonly act: fc.Arbitrary<Act>;
  readonly mostActs: number;
  /** Sets up the programs in the round's folder, does `round.acts(planned)` one after another, and checks everything at the end. */
  readonly play: (planned: readonly Act[], round: Round) => Promise<void>;
}

/** A kind of act, how often it comes among the others, and what is chosen of it at random. */
export function actOf<Act extends string, Chosen extends object>(
  weight: number,
  act: Act,
  chosen: { readonly [Key in keyof Chosen]: fc.Arbitrary<Chosen[Key]> },
) {
  return { weight, arbitrary: fc.record<Chosen>(chosen).map((made) => ({ act, ...made })) };
}

/** Defines a test that plays rounds of a campaign. Whose a process is, only Linux shows. */
export function itPlays<Act extends { readonly act: string }>(title: string, campaign: Campaign<Act>): void {
  const { name, act, mostActs, play } = campaign;
  const numRuns = Number(rounds ?? 1);
  itOn("linux", `${title} (${numRuns} of seed ${seed})`, async function () {
    this.timeout(numRuns * longest + 60_000);
    const planned = fc.noBias(fc.array(act, { minLength: mostActs / 2, maxLength: mostActs, size: "max" }));
    await fc.assert(
      fc.asyncProperty(planned, (acts) => playRound(name, (round) => play(acts, round))),
      // The shortest round that fails is not looked for: programs differ in timing each time.
      { numRuns, seed: Number(seed), endOnFailure: true },
    );
  });
}

/** Plays a round in a new folder. @throws with its faults, and the file and folder that tell what happened. */
export async function playRound(name: string, play: (round: Round) => Promise<void>): Promise<void> {
  await using folder = await TemporaryFolder.make("pipeline-runs-chaos");
  const mark = randomUUID();
  const round = new Round(folder.path, { [markVariable]: mark });
  try {
    await play(round);
  } catch (error) {
    round.check(false, `the round broke off: ${error instanceof Error ? error.stack : String(error)}`);
  }
  const left = await endMarked(markVariable, mark);
  round.check(left.length === 0, "a process has outlived the round", left);
  if (round.faults.size === 0) return;
  const kept = join(projectRoot, "test-results/chaos", `${name}-${mark}`);
  await mkdir(kept, { recursive: true });
  await cp(folder.path, kept, { recursive: true }).catch(() => {});
  await writeFile(`${kept}.ndjson`, round.lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  assert.fail([...round.faults, `What happened: ${kept}.ndjson`].join("\n"));
}

/** One round of a campaign: its folder, faults and trace. */
export class Round {
  readonly folder: string;
  /** Added to the environment of every process: the mark by which those left behind are found. */
  readonly environment: Readonly<Record<string, string>>;
  /** Aborts when the round has taken too long: what is waited for then rejects. */
  readonly signal = AbortSignal.timeout(longest);
  readonly faults = new Set<string>();
  /** What happened, and when, in milliseconds since the round began. */
  readonly lines: { readonly at: number; readonly what: string; readonly facts?: unknown }[] = [];
  readonly #began = performance.now();

  constructor(folder: string, environment: Readonly<Record<string, string>>) {
    this.folder = folder;
    this.environment = environment;
  }

  /** The planned acts, fewer on a slow machine, so that the round still comes to rest in time; each is traced. */
  *acts<Act extends { readonly act: string }>(planned: readonly Act[]): Generator<Act> {
    const until = performance.now() + actsFor;
    for (const act of planned) {
      this.signal.throwIfAborted();
      if (performance.now() > until) return;
      this.trace("act", act);
      yield act;
    }
  }

  /** Adds a line to the trace. */
  trace(what: string, facts?: unknown): void {
    this.lines.push({ at: Math.round(performance.now() - this.#began), what, facts });
  }

  /** Checks an invariant. A violation is a fault; the round goes on. */
  check(holds: boolean, fault: string, facts?: unknown): void {
    if (holds) return;
    this.trace(`FAULT: ${fault}`, facts);
    this.faults.add(fault);
  }

  /** As `check`, of two values that have to be the same. */
  checkSame(actual: unknown, expected: unknown, fault: string): void {
    this.check(isDeepStrictEqual(actual, expected), fault, { actual, expected });
  }

  /**
   * Waits until `look` finds nothing that is still under way; what it finds after so many milliseconds is a fault.
   * @returns whether nothing was left.
   */
  async comesToRest(fault: string, milliseconds: number, look: () => Promise<unknown>): Promise<boolean> {
    const latest = performance.now() + milliseconds;
    for (;;) {
      const left = await look();
      if (left === undefined || performance.now() > latest) {
        this.check(left === undefined, fault, left);
        return left === undefined;
      }
      await pause(50, undefined, { signal: this.signal });
    }
  }
}

/** The item at an index, which may be beyond the last: then it counts on from the first. Undefined if there are none. */
export function pick<T>(from: readonly T[], which: number): T | undefined {
  return from[which % Math.max(1, from.length)];
}
