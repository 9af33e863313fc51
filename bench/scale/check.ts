import { setTimeout as pause } from "node:timers/promises";
import type { Figure, Table } from "../benchmark.ts";
import { start } from "../manyServers/team.ts";
import { type Costs, type Lab, manyActive, oneWork, openEvents, refusedStart, wholeRun } from "./costs.ts";
import { total, usedBy } from "./model.ts";
import { measures, sum, words } from "./used.ts";

const servers = 4;
const seconds = 60;
const streams = 100;
/** Each waits behind a run that a runner holds. */
const waiters = 20;
/** In milliseconds. */
const tick = 100;
const ticksOfRun = 2;
const mostFailed = 10;

/** What four servers use under a load of everything at once, beside what the costs of each say. */
export async function checkModel(lab: Lab, costs: Costs, signal: AbortSignal): Promise<Table> {
  const { team, orgs, apiOf } = lab;
  const labs: Lab[] = [];
  while (labs.length < servers) {
    const server = labs.length === 0 ? lab.server : await team.server();
    const api = apiOf(server);
    labs.push({ ...lab, server, api, runnerId: await api.register("bench", signal) });
  }
  const at = (place: number): Lab => labs[place % servers] ?? lab;
  const inTurns = orgs.slice(0, 200);
  // Servers that have just started compile first.
  for (const one of labs) for (const { secret } of inTurns) await wholeRun(one, secret, signal);
  // Held last: a runner has to say soon that it lives.
  const held = await holdRuns(lab, orgs.slice(200, 200 + waiters), signal);
  await using open = new AsyncDisposableStack();
  for (const [place, { secret }] of inTurns.slice(0, streams).entries()) {
    open.use(await openEvents(at(place).server, secret));
  }
  const done = { runs: 0, heartbeats: 0, failed: 0 };
  const beat = async (place: number) => {
    const run = held[place % held.length];
    if (run === undefined) throw new Error("no run is held");
    await at(place + 2).api.heartbeat(run.runnerId, [run.runId], 0, signal);
    done.heartbeats += 1;
  };
  // One that asks again before it has said anything of its run would be given that one again.
  const runners: string[] = [];
  while (runners.length < 50) runners.push(await lab.api.register("bench", signal));
  /** It is started at one server, and said to another. */
  const run = async (place: number) => {
    await start(at(place).server, inTurns[place % inTurns.length]?.secret ?? "");
    // Until it is offered: a runner that asks too early asks again.
    await pause(tick);
    await oneWork({ ...at(place + 1), runnerId: runners[place % runners.length] ?? lab.runnerId }, signal);
    done.runs += 1;
  };
  // A connection that its server has just closed, which a runner would ask over again.
  const tolerate = (error: unknown) => {
    done.failed += 1;
    if (done.failed > mostFailed) throw error;
  };
  const load = async (forSeconds: number) => {
    const began = performance.now();
    const under = new Set<Promise<void>>();
    const isOver = () => performance.now() - began > forSeconds * 1000;
    for (let turn = 0; !isOver(); turn++) {
      const acts = [beat(turn), ...(turn % ticksOfRun === 0 ? [run(turn / ticksOfRun)] : [])];
      for (const act of acts) {
        const tracked = act.catch(tolerate).finally(() => under.delete(tracked));
        under.add(tracked);
      }
      await pause(Math.max(0, began + (turn + 1) * tick - performance.now()), undefined, { signal });
      // On a busy machine there is less of a load, and as much less is predicted.
      if (under.size > waiters) await Promise.all(under);
    }
    await Promise.all(under);
  };
  await load(10);
  Object.assign(done, { runs: 0, heartbeats: 0, failed: 0 });
  const { seconds: passed, used } = await lab.meter.during(async () => {
    const waits = held.map(({ secret }, place) => refusedStart(at(place).server, secret, seconds, signal));
    await Promise.all([load(seconds), ...waits]);
  });
  const predicted = total(
    usedBy(costs, {
      ...{ servers, emptyTakes: 0, logPieces: 0, logBytes: 0 },
      runs: done.runs / passed,
      heartbeats: done.heartbeats / passed,
      streamedRuns: ((done.runs / passed) * streams) / inTurns.length,
      streams,
      waiting: (waiters * seconds) / passed,
      active: manyActive + waiters,
    }),
  );
  const measured = sum([1 / passed, used]);
  const figures = (of: (measure: (typeof measures)[number]) => number, isRatio = false): Figure[] =>
    measures.map((measure) => {
      const [name, unit] = words[measure];
      return { name, value: of(measure), unit: isRatio ? "×" : unit };
    });
  const rate = (done.runs / passed).toFixed(1);
  return {
    title: `a second of ${servers} servers: ${rate} runs begun, ${streams} event streams, ${waiters} starts that wait, ${waiters} runners`,
    rows: [
      { name: "by the costs", figures: figures((measure) => predicted[measure]) },
      { name: "measured", figures: figures((measure) => measured[measure]) },
      {
        name: "by the costs / measured",
        figures: figures((measure) => predicted[measure] / measured[measure], true),
      },
    ],
  };
}

interface HeldRun {
  readonly runId: string;
  readonly runnerId: string;
  /** Of a member of its org. */
  readonly secret: string;
}

/** Has each org's only slot taken, by a run that a runner of its own holds. */
async function holdRuns(
  { server, api }: Lab,
  orgs: Lab["orgs"],
  signal: AbortSignal,
): Promise<readonly HeldRun[]> {
  const held: HeldRun[] = [];
  for (const { secret } of orgs) {
    const runId = await start(server, secret);
    const runnerId = await api.register("bench", signal);
    const work = await api.work(runnerId, [], 5, signal);
    if (work?.runId !== runId) throw new Error("a runner was given another run");
    held.push({ runId, runnerId, secret });
  }
  return held;
}
