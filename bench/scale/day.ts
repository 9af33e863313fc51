// A day of orgs that start runs, second by second: what of it is under way at the busiest time. Orgs are independent of each
// other, so a few thousand of them tell what any number needs.

/** What people and their runs are taken to be like. */
export const assumed = {
  runsPerDay: 50,
  /** How long a run lasts, in seconds, on average: some much longer, most shorter. */
  runSeconds: 60,
  /** How long a start waits for its slot, in seconds. The free tier has one slot. */
  waitSeconds: 120,
  /** Windows of VS Code, tabs and terminals that follow an org's events at the busiest time. */
  streams: 5,
  logBytes: 100 * 1024,
  /** In how many pieces a runner sends a log: it prints now and then, and a piece is sent every 100 ms at most. */
  logPieces: 30,
  /** Runs at once of a runner's machine, and how many more machines there are than are busy at the busiest time. */
  slots: 2,
  spareRunners: 0.2,
} as const;

/** At the busiest time, of one org on average. */
export interface Busiest {
  readonly startsPerSecond: number;
  /** Starts of it that had to wait first. */
  readonly waitsPerSecond: number;
  readonly active: number;
  readonly waiting: number;
}

export interface Day {
  readonly busiest: Busiest;
  readonly runs: number;
  /** Starts that had no slot within the time. */
  readonly refused: number;
}

const daySeconds = 86_400;
/**
 * The working day: its middle, and how broad it is (the standard deviation of a bell), in seconds; and what goes on at night
 * beside its middle. So the busiest time has three times the day's mean.
 */
const working = { middle: 13.5 * 3_600, breadth: 2.55 * 3_600, rest: 0.1 } as const;

function shape(second: number): number {
  const { middle, breadth, rest } = working;
  return rest + Math.exp(-((second - middle) ** 2) / (2 * breadth ** 2));
}

/** Draws numbers from 0 to 1 that are the same each time (mulberry32). */
function drawer(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A day of so many orgs, each with one slot and a queue that is first come, first served. */
export function simulateDay(orgs: number, seed = 1): Day {
  const draw = drawer(seed);
  const most = shape(working.middle);
  const window = { from: working.middle - 1_800, until: working.middle + 1_800 };
  const inWindow = (from: number, until: number) =>
    Math.max(0, Math.min(until, window.until) - Math.max(from, window.from));
  const counted = { starts: 0, waits: 0, active: 0, waiting: 0, runs: 0, refused: 0 };
  for (let org = 0; org < orgs; org++) {
    let freeAt = 0;
    for (const at of startsOf(draw, most)) {
      const waited = Math.max(0, freeAt - at);
      const isRefused = waited > assumed.waitSeconds;
      const isInWindow = at >= window.from && at < window.until;
      if (isInWindow) counted.starts += 1;
      if (isInWindow && waited > 0) counted.waits += 1;
      counted.waiting += inWindow(at, at + Math.min(waited, assumed.waitSeconds));
      if (isRefused) {
        counted.refused += 1;
        continue;
      }
      counted.runs += 1;
      const begins = at + waited;
      freeAt = begins - Math.log(1 - draw()) * assumed.runSeconds;
      counted.active += inWindow(begins, freeAt);
    }
  }
  const orgSeconds = orgs * (window.until - window.from);
  return {
    busiest: {
      startsPerSecond: counted.starts / orgSeconds,
      waitsPerSecond: counted.waits / orgSeconds,
      active: counted.active / orgSeconds,
      waiting: counted.waiting / orgSeconds,
    },
    runs: counted.runs,
    refused: counted.refused,
  };
}

/** When an org's starts come, in order: 50 times drawn from the day's shape. */
function startsOf(draw: () => number, most: number): number[] {
  const starts: number[] = [];
  while (starts.length < assumed.runsPerDay) {
    const at = draw() * daySeconds;
    if (draw() * most < shape(at)) starts.push(at);
  }
  return starts.sort((one, other) => one - other);
}
