import { cp } from "node:fs/promises";
import { join } from "node:path";
import { serviceLogFile } from "../../src/machine/dataFolder.ts";
import { TemporaryFolder } from "../../test/temporaryFolder.ts";
import { Worker } from "../worker/worker.ts";
import type { LoadCalls, ServerCalls, Turn, Usage } from "./calls.ts";
import { type Seeded, seed } from "./seed.ts";

/** What is asked, of which orgs. */
export interface Case {
  readonly name: string;
  readonly path: Turn["path"];
  readonly pipeline: string | undefined;
  readonly status: number;
  readonly keysOf: (seeded: Seeded) => readonly string[];
}

/** The figures of one turn against one server. */
export interface Turned {
  readonly perSecond: number;
  readonly processorMicroseconds: number;
  readonly medianMilliseconds: number;
  readonly p99Milliseconds: number;
}

/** Our service; the bare server; the bare server that commits together what comes together. */
export type SideName = "ours" | "bare" | "sharing";

export interface Compared {
  readonly name: string;
  readonly connections: number;
  readonly turns: ReadonlyMap<SideName, readonly Turned[]>;
}

export interface Comparison {
  readonly compared: readonly Compared[];
  readonly atRest: ReadonlyMap<SideName, Usage>;
  readonly afterwards: ReadonlyMap<SideName, Usage>;
}

interface Side {
  readonly name: SideName;
  readonly server: Worker<ServerCalls>;
  readonly url: string;
}

interface Wanted {
  readonly cases: readonly Case[];
  readonly sides: readonly SideName[];
  /** How much longer each commit takes than the disk needs for it. */
  readonly commitMilliseconds: number;
  readonly connections: readonly number[];
  readonly rounds: number;
  readonly seconds: number;
  readonly say: (line: string) => void;
}

/** How the servers are warmed up for each case, as ones that have run for a while are: how many connections, for how many seconds. */
const warmingUp = { connections: 16, seconds: 8 } as const;

/** Asks the servers in turns, each round in the other order; the turns that warm them up do not count. */
export async function compare(wanted: Wanted, signal: AbortSignal): Promise<Comparison> {
  await using folder = await TemporaryFolder.make("pipeline-runs-bench");
  const seeded = await seed(join(folder.path, "seeded"), join(folder.path, "project"));
  await using stack = new AsyncDisposableStack();
  const sides: Side[] = [];
  for (const name of wanted.sides) {
    const own = join(folder.path, name);
    await cp(join(folder.path, "seeded"), own, { recursive: true });
    const server = stack.use(serverOf(name, own, wanted.commitMilliseconds));
    sides.push({ name, server, url: await server.call("open") });
  }
  const load = stack.use(new Worker<LoadCalls>(program("load"), []));
  const usage = async () => {
    const used = new Map<SideName, Usage>();
    for (const { name, server } of sides) used.set(name, await server.call("usage"));
    return used;
  };
  const atRest = await usage();
  // The one slot of the free org is taken, so that every other start of it is refused.
  for (const { url } of sides) await takeSlot(url, seeded.free);
  const compared: Compared[] = [];
  for (const one of wanted.cases) {
    const keys = one.keysOf(seeded);
    const turn = (side: Side, connections: number, seconds: number) =>
      turnOf(side, load, { ...one, keys, connections, seconds, url: side.url }, signal);
    for (const side of sides) await turn(side, warmingUp.connections, warmingUp.seconds);
    for (const connections of wanted.connections) {
      wanted.say(`${one.name}, ${connections} connections`);
      const turns = new Map(sides.map(({ name }): [SideName, Turned[]] => [name, []]));
      for (const side of sides) await turn(side, connections, 1);
      for (let round = 0; round < wanted.rounds; round++) {
        for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
          turns.get(side.name)?.push(await turn(side, connections, wanted.seconds));
        }
      }
      compared.push({ name: one.name, connections, turns });
    }
  }
  return { compared, atRest, afterwards: await usage() };
}

const program = (name: string) => join(import.meta.dirname, `${name}.ts`);

function serverOf(name: SideName, folder: string, commitMilliseconds: number): Worker<ServerCalls> {
  const args = [folder, String(commitMilliseconds), name];
  return name === "ours"
    ? new Worker<ServerCalls>(program("ours"), args, serviceLogFile(folder))
    : new Worker<ServerCalls>(program("bare"), args);
}

async function turnOf(
  { server }: Side,
  load: Worker<LoadCalls>,
  turn: Turn & Partial<Case>,
  signal: AbortSignal,
): Promise<Turned> {
  signal.throwIfAborted();
  const { keysOf: _, name: __, ...message } = turn;
  const before = await server.call("usage");
  const answered = await load.call("run", message);
  const after = await server.call("usage");
  return {
    perSecond: answered.requests / answered.seconds,
    processorMicroseconds:
      ((after.processorMilliseconds - before.processorMilliseconds) * 1000) / answered.requests,
    medianMilliseconds: answered.medianMilliseconds,
    p99Milliseconds: answered.p99Milliseconds,
  };
}

async function takeSlot(url: string, key: string): Promise<void> {
  const reply = await fetch(`${url}/api/runs`, {
    method: "POST",
    headers: { "x-api-key": key, "idempotency-key": "the-slot" },
    body: JSON.stringify({ pipeline: "hello", project: "bench" }),
  });
  if (reply.status !== 201) throw new Error(`${url} gave no slot: ${reply.status} ${await reply.text()}`);
}
