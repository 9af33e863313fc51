#!/usr/bin/env node
import { begin } from "./begin.ts";
import { cacheFolder } from "./cacheFolder.ts";

declare const PIPELINE_RUNS_VERSION: string;

void begin(PIPELINE_RUNS_VERSION, () => ({
  programs: __dirname,
  cache: cacheFolder(process.env, process.platform),
}));
