#!/usr/bin/env node
import { createRequire } from "node:module";
import { cacheFolder } from "./cacheFolder.ts";
import { keepCompiled } from "./compileCache.ts";

declare const PIPELINE_RUNS_VERSION: string;

// What is asked for most, by scripts and by editors, needs nothing else of the tool.
const [first, ...others] = process.argv.slice(2);
if (others.length === 0 && (first === "--version" || first === "-V")) {
  process.stdout.write(`${PIPELINE_RUNS_VERSION}\n`);
} else {
  keepCompiled(cacheFolder(process.env, process.platform));
  // The build puts the rest beside this file (scripts/build/tool.mjs), to be loaded in the way that is fastest.
  const require = createRequire(import.meta.url);
  const { modules }: { modules: { start: typeof import("./start.ts") } } = require("./tool.cjs");
  await modules.start.start(PIPELINE_RUNS_VERSION, import.meta.dirname);
}
