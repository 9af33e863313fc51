// `npm run bench`: measures, and tells what came of it beside what it's meant to be. docs/bench.md has each one's method.
import { runNpmScript } from "../scripts/process/npm.ts";
import { stopSignal } from "../scripts/process/stopSignal.ts";
import { sayToStandardError as say } from "../scripts/say.ts";
import type { Benchmark } from "./benchmark.ts";
import { benchmarks } from "./benchmarks.ts";
import { jsonReport } from "./frame/jsonReport.ts";
import { loadNow, thisMachine } from "./frame/machine.ts";
import { type Options, readOptions } from "./frame/options.ts";
import type { Outcome } from "./frame/outcome.ts";
import { tell } from "./frame/tell.ts";

const usage = `npm run bench -- [--json] [--idle-seconds <n>] [<name>…]

  --json            print one JSON object on standard output
  --idle-seconds    how long what does nothing is looked at (60)
  <name>…           measure these only

${benchmarks.map(({ name, decides }) => `  ${name.padEnd(18)}${decides}`).join("\n")}`;

process.exitCode = await main();

/** @returns 0 when all was measured, whether the goals are met or not; 1 when something failed, 2 for wrong usage, 130 when stopped. */
async function main(): Promise<number> {
  const asked = readOptions(
    process.argv.slice(2),
    benchmarks.map(({ name }) => name),
  );
  switch (asked.kind) {
    case "help":
      console.log(usage);
      return 0;
    case "wrong":
      console.error(`${asked.why}\n\n${usage}`);
      return 2;
    case "run":
      return measure(asked.options, stopSignal());
    default:
      return asked satisfies never;
  }
}

async function measure({ asJson, chosen, idleSeconds }: Options, signal: AbortSignal): Promise<number> {
  for (const script of ["package", "package:tool"]) {
    say(`Building (npm run ${script})…`);
    await runNpmScript(script, signal);
  }
  const machine = thisMachine();
  const outcomes: Outcome[] = [];
  for (const benchmark of benchmarks) {
    if (chosen.length > 0 && !chosen.includes(benchmark.name)) continue;
    outcomes.push(await outcomeOf(benchmark, idleSeconds, signal));
    if (signal.aborted) return 130;
  }
  console.log(asJson ? jsonReport(machine, outcomes) : tell(machine, outcomes));
  return outcomes.some(({ result }) => result.kind === "failed") ? 1 : 0;
}

async function outcomeOf(benchmark: Benchmark, idleSeconds: number, signal: AbortSignal): Promise<Outcome> {
  const { name, decides } = benchmark;
  const sayOf = (line: string) => say(`${name}: ${line}`);
  const load = loadNow();
  const began = performance.now();
  sayOf("measuring…");
  const result = await benchmark.measure({ signal, say: sayOf, idleSeconds }).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    if (!signal.aborted) sayOf(`failed: ${error instanceof Error ? error.stack : why}`);
    return { kind: "failed", why } as const;
  });
  return { name, decides, load, seconds: Math.round((performance.now() - began) / 1000), result };
}
