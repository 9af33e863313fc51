// `npm run bench`: measures, and tells the ratios. `-- --json` prints one object; `-- coldStart` runs that one only.
import { cpus, loadavg, release, type } from "node:os";
import { activation } from "./activation.ts";
import type { Measured, Size } from "./benchmark.ts";
import { coldStart } from "./coldStart.ts";

const benchmarks = { activation, coldStart };

const chosen = process.argv.slice(2).filter((word) => word !== "--json");
const asJson = process.argv.includes("--json");
const unknown = chosen.filter((name) => !Object.hasOwn(benchmarks, name));
if (unknown.length > 0) {
  console.error(
    `There is no benchmark ${unknown.join(", ")}. There are: ${Object.keys(benchmarks).join(", ")}.`,
  );
  process.exit(2);
}

const machine = {
  system: `${type()} ${release()}`,
  processors: `${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown"}`,
  node: process.versions.node,
  load: loadavg().map((value) => Math.round(value * 10) / 10),
};
const measured: Measured[] = [];
for (const [name, measure] of Object.entries(benchmarks)) {
  if (chosen.length === 0 || chosen.includes(name)) measured.push(await measure());
}

if (asJson) {
  console.log(JSON.stringify({ ok: true, machine, benchmarks: measured }));
} else {
  console.log(`${machine.processors}, ${machine.system}, Node.js ${machine.node}, load ${machine.load}`);
  for (const { name, rounds, rows, sizes = [] } of measured) {
    console.log(`\n${name}, medians of ${rounds} rounds`);
    for (const { name, medianMilliseconds, fastestMilliseconds, ratio } of rows) {
      const goal = ratio.atMost === undefined ? "" : `, meant to be at most ${ratio.atMost.toFixed(1)}`;
      console.log(
        `  ${name.padEnd(38)}${shortly(medianMilliseconds).padStart(5)} ms (fastest ${shortly(fastestMilliseconds)})  ${ratio.value.toFixed(2)} × ${ratio.to}${goal}`,
      );
    }
    for (const [group, ones] of Map.groupBy(sizes, (size) => size.group)) tellSizes(group, ones);
  }
}

/** What takes less than ten milliseconds is told to the hundredth. */
function shortly(milliseconds: number): string {
  return milliseconds.toFixed(milliseconds < 10 ? 2 : 0);
}

function tellSizes(group: string, sizes: readonly Size[]): void {
  const kilobytes = (bytes: number) => `${(bytes / 1024).toFixed(1)} KB`;
  const sum = sizes.reduce((total, { bytes }) => total + bytes, 0);
  console.log(`\n  ${group}: ${sizes.length === 1 ? "" : `${sizes.length} files, `}${kilobytes(sum)}`);
  for (const { name, bytes } of sizes) console.log(`    ${name.padEnd(36)}${kilobytes(bytes).padStart(10)}`);
}
