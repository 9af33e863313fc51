#!/usr/bin/env node
declare const PIPELINE_RUNS_VERSION: string;

// What is asked for most, by scripts and by editors, needs nothing else of the tool.
const [first, ...others] = process.argv.slice(2);
if (others.length === 0 && (first === "--version" || first === "-V")) {
  process.stdout.write(`${PIPELINE_RUNS_VERSION}\n`);
} else {
  const { start } = await import("./start.ts");
  await start(PIPELINE_RUNS_VERSION, import.meta.dirname);
}
