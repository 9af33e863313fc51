import { cp } from "node:fs/promises";
import { join } from "node:path";
import { serviceLogFile } from "../../src/client/embedded/serviceLog.ts";
import { TemporaryFolder } from "../../test/temporaryFolder.ts";
import type { Answered, Serving, Turn, Usage } from "./messages.ts";
import { BenchProcess } from "./process.ts";
import { type Seeded, seed } from "./seed.ts";

/** What is asked, of which orgs. */
export interface Case {
  readonly name: string;
  readonly path: Turn["path"];
  readonly pipeline: string | undefined;
  readonly status: number;
  readonly keysOf: (seeded: Seeded) => readonly string[];
}

/** What one turn against one server came to. */
export interface Turned {
  readonly perSecond: number;
  readonly processorMicroseconds: number;
  readonly medianMilliseconds: number;
  readonly p99Milliseconds: number;
}

export interface Compared {
  readonly name: string;
  readonly connections: number;
  readonly ours: readonly Turned[];
  readonly bare: readonly Turned[];
}

export interface Comparison {
  readonly compared: readonly Compared[];
  readonly atRest: { readonly ours: Usage; readonly bare: Usage };
  readonly afterwards: { readonly ours: Usage; readonly bare: Usage };
}

interface Side {
  readonly server: BenchProcess;
  readonly url: string;
}

interface Wanted {
  readonly cases: readonly Case[];
  readonly connections: readonly number[];
  readonly rounds: number;
  readonly seconds: number;
  readonly say: (line: string) => void;
}

/** Asks both servers in turns, each round in the other order; one turn each before does not count. */
export async function compare(wanted: Wanted, signal: AbortSignal): Promise<Comparison> {
  await using folder = await TemporaryFolder.make("pipeline-runs-bench");
  const oursFolder = join(folder.path, "ours");
  const seeded = await seed(oursFolder, join(folder.path, "project"));
  await cp(oursFolder, join(folder.path, "bare"), { recursive: true });
  await using oursServer = new BenchProcess("ours.ts", [oursFolder], serviceLogFile(oursFolder));
  const ours = { server: oursServer, url: (await oursServer.next<Serving>(signal)).url };
  await using bareServer = new BenchProcess("bare.ts", [join(folder.path, "bare")]);
  const bare = { server: bareServer, url: (await bareServer.next<Serving>(signal)).url };
  await using load = new BenchProcess("load.ts");
  const usage = async () => ({
    ours: await ours.server.ask<Usage>({}, signal),
    bare: await bare.server.ask<Usage>({}, signal),
  });
  const atRest = await usage();
  // The one place of the free org is taken, so that every other start of it is refused.
  for (const { url } of [ours, bare]) await takePlace(url, seeded.free);
  const compared: Compared[] = [];
  for (const one of wanted.cases) {
    for (const connections of wanted.connections) {
      wanted.say(`${one.name}, ${connections} connections`);
      const turn = (side: Side, seconds: number) =>
        turnOf(side, load, { ...one, keys: one.keysOf(seeded), connections, seconds, url: side.url }, signal);
      const turned = { ours: [] as Turned[], bare: [] as Turned[] };
      await turn(ours, 1);
      await turn(bare, 1);
      for (let round = 0; round < wanted.rounds; round++) {
        if (round % 2 === 0) turned.ours.push(await turn(ours, wanted.seconds));
        turned.bare.push(await turn(bare, wanted.seconds));
        if (round % 2 === 1) turned.ours.push(await turn(ours, wanted.seconds));
      }
      compared.push({ name: one.name, connections, ...turned });
    }
  }
  return { compared, atRest, afterwards: await usage() };
}

async function turnOf(
  { server }: Side,
  load: BenchProcess,
  turn: Turn & Partial<Case>,
  signal: AbortSignal,
): Promise<Turned> {
  const { keysOf: _, name: __, ...message } = turn;
  const before = await server.ask<Usage>({}, signal);
  const answered = await load.ask<Answered>(message, signal);
  const after = await server.ask<Usage>({}, signal);
  return {
    perSecond: answered.requests / answered.seconds,
    processorMicroseconds:
      ((after.processorMilliseconds - before.processorMilliseconds) * 1000) / answered.requests,
    medianMilliseconds: answered.medianMilliseconds,
    p99Milliseconds: answered.p99Milliseconds,
  };
}

async function takePlace(url: string, key: string): Promise<void> {
  const reply = await fetch(`${url}/api/runs`, {
    method: "POST",
    headers: { "x-api-key": key, "idempotency-key": "the-place" },
    body: JSON.stringify({ pipeline: "hello", project: "bench" }),
  });
  if (reply.status !== 201) throw new Error(`${url} gave no place: ${reply.status} ${await reply.text()}`);
}
