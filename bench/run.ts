// `npm run bench`: measures, and tells what came of it beside what it's meant to be. docs/bench.md has each one's method.
import { parseArgs } from "node:util";
import { runNpmScript } from "../scripts/process/npm.ts";
import { stopSignal } from "../scripts/process/stopSignal.ts";
import { sayToStandardError as say } from "../scripts/say.ts";
import { activation } from "./activation.ts";
import { admission } from "./admission.ts";
import type { Benchmark } from "./benchmark.ts";
import { coldStart } from "./coldStart.ts";
import { firstMinute } from "./firstMinute.ts";
import { growth } from "./growth.ts";
import { handOver } from "./handOver.ts";
import { idle } from "./idle.ts";
import { manyServers } from "./manyServers.ts";
import { jsonReport, loadNow, type Outcome, textReport, thisMachine } from "./report.ts";
import { scale } from "./scale.ts";
import { sizes } from "./sizes.ts";
import { start } from "./start.ts";
import { steps } from "./steps.ts";
import { toolRun } from "./toolRun.ts";

/** All that there are, in the order in which they are measured. */
const benchmarks: readonly Benchmark[] = [
  handOver,
  admission,
  growth,
  manyServers,
  scale,
  start,
  coldStart,
  toolRun,
  steps,
  activation,
  firstMinute,
  sizes,
  idle,
];

const usage = `npm run bench -- [--json] [<name>…]

  --json      print one JSON object on standard output
  <name>…     measure these only

${benchmarks.map(({ name, decides }) => `  ${name.padEnd(12)}${decides}`).join("\n")}`;

process.exitCode = await main();

/** @returns 0 when all was measured, whether the goals are met or not; 1 when something failed, 2 for wrong usage, 130 when stopped. */
async function main(): Promise<number> {
  const { values, positionals } = readWords();
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const unknown = positionals.filter((name) => !benchmarks.some((benchmark) => benchmark.name === name));
  if (unknown.length > 0) wrong(`There is no benchmark ${unknown.join(", ")}.`);
  const signal = stopSignal();
  for (const script of ["package", "package:tool"]) {
    say(`Building (npm run ${script})…`);
    await runNpmScript(script, signal);
  }
  const machine = thisMachine();
  const outcomes: Outcome[] = [];
  for (const benchmark of benchmarks) {
    if (positionals.length > 0 && !positionals.includes(benchmark.name)) continue;
    outcomes.push(await outcomeOf(benchmark, signal));
    if (signal.aborted) return 130;
  }
  console.log(values.json ? jsonReport(machine, outcomes) : textReport(machine, outcomes));
  return outcomes.some(({ result }) => result.kind === "failed") ? 1 : 0;
}

function readWords() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { json: { type: "boolean", default: false }, help: { type: "boolean", default: false } },
    });
  } catch (error) {
    return wrong(error instanceof Error ? error.message : String(error));
  }
}

function wrong(why: string): never {
  console.error(`${why}\n\n${usage}`);
  process.exit(2);
}

async function outcomeOf(benchmark: Benchmark, signal: AbortSignal): Promise<Outcome> {
  const { name, decides } = benchmark;
  const sayOf = (line: string) => say(`${name}: ${line}`);
  const load = loadNow();
  const began = performance.now();
  sayOf("measuring…");
  const result = await benchmark.measure({ signal, say: sayOf }).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    if (!signal.aborted) sayOf(`failed: ${error instanceof Error ? error.stack : why}`);
    return { kind: "failed", why } as const;
  });
  return { name, decides, load, seconds: Math.round((performance.now() - began) / 1000), result };
}
