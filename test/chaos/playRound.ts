import { randomUUID } from "node:crypto";
import { endMarked } from "../../scripts/process/findProcesses.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";
import type { Campaign } from "./campaign.ts";
import { type Counts, Round } from "./round.ts";
import { writeTrace } from "./trace.ts";

export interface RoundResult {
  readonly counts: Counts;
  readonly faults: readonly string[];
  /** What happened, where there are faults. */
  readonly traceFile: string | undefined;
}

export interface PlayOptions {
  /** Aborts when everything is given up. */
  readonly signal: AbortSignal;
  readonly isTimeUp: () => boolean;
  readonly say: (line: string) => void;
  /** Where traces of faults go. */
  readonly results: string;
  /** How long a round may take, in milliseconds, before that is a fault. */
  readonly longest?: number;
  /** How long a process that the round leaves may take to end by itself, in milliseconds. */
  readonly patience?: number;
  /** Milliseconds of a clock that only goes forward. */
  readonly now?: () => number;
}

/** The part of a round's longest time for its acts. On a slow machine it has fewer acts, so that it still comes to rest in time. */
const actsPart = 0.3;

/** Set in the environment of every process of a round. */
const markVariable = "PIPELINE_FAULTS_MARK";

/** Plays the round of a seed in a new folder, and looks whether it has left a process behind, which it then ends. */
export async function playRound(
  campaign: Campaign,
  seed: number,
  options: PlayOptions,
): Promise<RoundResult> {
  const { signal, isTimeUp, say, results, patience, now = () => performance.now() } = options;
  const { longest = campaign.longest ?? 300_000 } = options;
  await using folder = await TemporaryFolder.make("pipeline-runs-chaos");
  const mark = randomUUID();
  let actsUntil: number | undefined;
  const isEnough = () => {
    // Counted from the first act, which is always done, since programs take long to start.
    actsUntil ??= now() + longest * actsPart;
    return now() >= actsUntil;
  };
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error(`it took more than ${longest / 1000} s`)), longest);
  const round = new Round({
    folder: folder.path,
    environment: { [markVariable]: mark },
    signal: AbortSignal.any([signal, late.signal]),
    isTimeUp: () => isEnough() || isTimeUp(),
    say,
  });
  const { acts, play } = campaign.round(seed);
  try {
    await untilAborted(play(round), round.signal);
  } catch (error) {
    if (!signal.aborted) round.brokeOff(error);
  } finally {
    clearTimeout(timer);
  }
  const left = await endMarked(markVariable, mark, patience);
  if (!signal.aborted) round.check(left.length === 0, "a process has outlived the round", left);
  const { counts, faults, lines } = round;
  const traceFile =
    faults.length === 0
      ? undefined
      : await writeTrace({ campaign: campaign.name, seed, acts, faults, lines }, folder.path, results);
  return { counts, faults, traceFile };
}

/** Work that ignores the signal must not hang the chaos tests. */
function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => {
    // Gives the round a moment to clean up by itself.
    setTimeout(() => reject(signal.reason), 5_000).unref();
  };
  if (signal.aborted) giveUp();
  else signal.addEventListener("abort", giveUp, { once: true });
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", giveUp));
}
