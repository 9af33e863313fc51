// `npm run chaos`: attacks the programs for as long as asked, and tells what was found. `-- --seconds 60 --seed 42`,
// `-- --campaign processes`, `-- --replay <trace>`. Ends with 0 without a fault, 1 with one, 2 for a call that means nothing.
import { join } from "node:path";
import { Problem } from "../../scripts/problem.ts";
import { runNpmScript } from "../../scripts/process/npm.ts";
import { stopSignal } from "../../scripts/process/stopSignal.ts";
import { projectRoot } from "../../scripts/projectRoot.ts";
import { sayToStandardError } from "../../scripts/say.ts";
import { campaigns } from "./campaigns.ts";
import { readOptions } from "./options.ts";
import { type Outcome, replay, runCampaigns } from "./runCampaigns.ts";
import { table } from "./table.ts";
import { readTrace } from "./trace.ts";

try {
  process.exitCode = await run();
} catch (error) {
  if (!(error instanceof Problem)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}

async function run(): Promise<number> {
  const names = campaigns.map(({ name }) => name);
  const options = readOptions(process.argv.slice(2), names, Date.now());
  const signal = stopSignal();
  const given = { signal, say: sayToStandardError, results: join(projectRoot, "test-results", "chaos") };
  given.say("Building and packaging…");
  await runNpmScript("package", signal).catch((error: unknown) => {
    // Whoever stops it early sees an empty table.
    if (!signal.aborted) throw error;
  });
  const began = performance.now();
  let { seed } = options;
  let outcomes: readonly Outcome[];
  if (options.replay === undefined) {
    const chosen = campaigns.filter(({ name }) => options.campaigns?.includes(name) ?? true);
    outcomes = await runCampaigns({ ...options, ...given, campaigns: chosen });
  } else {
    const trace = await readTrace(options.replay);
    const found = campaigns.find(({ name }) => name === trace.campaign);
    if (found === undefined) {
      throw new Problem(`There is no campaign ${trace.campaign}.`, `There are: ${names.join(", ")}.`);
    }
    seed = trace.seed;
    outcomes = [await replay(found, seed, given)];
  }
  const seconds = (performance.now() - began) / 1000;
  for (const line of table(outcomes, { seed, seconds })) console.log(line);
  return outcomes.some(({ faults }) => faults > 0) || signal.aborted ? 1 : 0;
}
