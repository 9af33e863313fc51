import type { Costs } from "./costs.ts";
import { runCost } from "./costs.ts";
import { assumed, type Busiest } from "./day.ts";
import { sum, type Used } from "./used.ts";

/** What comes to the servers of one database, in a second, and what is there meanwhile. */
export interface Load {
  readonly servers: number;
  readonly runs: number;
  readonly emptyTakes: number;
  readonly heartbeats: number;
  readonly logPieces: number;
  readonly logBytes: number;
  /** Runs of an org for each event stream of that org: what the streams tell. */
  readonly streamedRuns: number;
  readonly streams: number;
  /** Starts that wait, their minutes together by the second. */
  readonly waiting: number;
  readonly active: number;
}

/** What a load uses in a second, by what it is for. */
export function usedBy(costs: Costs, load: Load): Readonly<Record<Cause, Used>> {
  const { servers, runs, emptyTakes, active } = load;
  const takes = runs + emptyTakes;
  const own = {
    runs: sum([runs, runCost(costs)]),
    logs: sum([load.logPieces, costs.logPiece], [load.logBytes, costs.logByte]),
    heartbeats: sum([load.heartbeats, costs.heartbeat]),
    "idle runners": sum([emptyTakes, costs.emptyTake]),
    "event streams": sum([load.streams, costs.streamSecond], [load.streamedRuns, costs.streamedRun]),
    waits: sum(
      [load.waiting / 60, costs.waitedMinute],
      // Where only few wait, most servers have nobody who does.
      [Math.min(servers, load.waiting), costs.waitingSecond],
    ),
    "idle servers": sum([servers, costs.idleSecond]),
    "looking through active runs": sum(
      [takes * active, costs.takePerActive],
      [servers * active, costs.idleSecondPerActive],
    ),
  };
  const { notifications } = sum(...Object.values(own).map((used) => [1, used] as const));
  // Each cost was measured with one server, which has heard itself.
  return { ...own, "hearing the others": sum([notifications * (servers - 1), costs.heard]) };
}

export type Cause =
  | "runs"
  | "logs"
  | "heartbeats"
  | "idle runners"
  | "event streams"
  | "waits"
  | "idle servers"
  | "looking through active runs"
  | "hearing the others";

export function total(used: Readonly<Record<Cause, Used>>): Used {
  return sum(...Object.values(used).map((one) => [1, one] as const));
}

/** What is taken for the most of one of each. A server is one process, which uses one processor. */
export const limits = {
  /** Of a server's processor, and of a database's: behind it, waits grow. */
  utilisation: 0.6,
  databaseProcessors: 32,
  connections: 1_000,
  connectionsOfServer: 17,
  walBytes: 100 * 1024 ** 2,
  /** How long a server's ring may wait for those of others, in seconds. */
  ringSeconds: 0.05,
  /** Not measured. */
  streamsOfServer: 10_000,
} as const;

/** The load of so many orgs at their busiest time, but for the number of servers. */
function loadOf(orgs: number, { startsPerSecond, active, waiting }: Busiest): Omit<Load, "servers"> {
  const runs = orgs * startsPerSecond;
  const busyRunners = (orgs * active) / assumed.slots;
  return {
    runs,
    // Each asks every 5 s.
    emptyTakes: (busyRunners * assumed.spareRunners) / 5,
    // Each is held for 2 s.
    heartbeats: busyRunners / 2,
    logPieces: runs * assumed.logPieces,
    logBytes: runs * assumed.logBytes,
    streamedRuns: runs * assumed.streams,
    streams: orgs * assumed.streams,
    waiting: orgs * waiting,
    active: orgs * active,
  };
}

export interface Needs {
  readonly servers: number;
  readonly used: Readonly<Record<Cause, Used>>;
  readonly walBytes: number;
  /** What is needed of each of one database's limits: more than 1 is too much. */
  readonly shares: Readonly<Record<Limit, number>>;
}

type Limit = "PostgreSQL's processors" | "connections" | "WAL" | "NOTIFY's lock" | "a server's hearing";

/** @param notifyCommits how many commits with a NOTIFY one PostgreSQL does in a second, one after the other. */
export function needsOf(costs: Costs, orgs: number, busiest: Busiest, notifyCommits: number): Needs {
  const load = loadOf(orgs, busiest);
  const most = 1_000 * limits.utilisation;
  const alone = total(usedBy(costs, { ...load, servers: 1 }));
  const hearing = alone.notifications * costs.heard.serverMilliseconds;
  const idle = costs.idleSecond.serverMilliseconds + hearing;
  // One that hears more than it can do serves nobody: then the others' number is told as if it heard nothing.
  const left = idle < most ? most - idle : most;
  const servers = Math.max(
    2,
    Math.ceil(alone.serverMilliseconds / left),
    Math.ceil(load.streams / limits.streamsOfServer),
  );
  const used = usedBy(costs, { ...load, servers });
  const all = total(used);
  const walBytes = all.walBytes + load.runs * Math.max(0, costs.runWalBytesAtMost - runCost(costs).walBytes);
  return {
    servers,
    used,
    walBytes,
    shares: {
      "PostgreSQL's processors": all.databaseMilliseconds / (limits.databaseProcessors * most),
      connections: (servers * limits.connectionsOfServer) / limits.connections,
      WAL: walBytes / limits.walBytes,
      // A server has one ring under way, and rings for all that has come meanwhile at once: none waits for more than one of each.
      "NOTIFY's lock": Math.min(
        all.notifyCommits / (notifyCommits * limits.utilisation),
        servers / (notifyCommits * limits.ringSeconds),
      ),
      "a server's hearing": hearing / most,
    },
  };
}

/** With how many orgs a limit is reached, by halving. */
export function orgsAt(limit: (orgs: number) => number): number {
  let [fits, doesNot] = [1, 2];
  while (limit(doesNot) <= 1 && doesNot < 1e9) [fits, doesNot] = [doesNot, doesNot * 2];
  while (doesNot - fits > fits / 100) {
    const middle = (fits + doesNot) / 2;
    if (limit(middle) <= 1) fits = middle;
    else doesNot = middle;
  }
  return Math.floor(fits);
}
