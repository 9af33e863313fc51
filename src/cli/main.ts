#!/usr/bin/env node
import { begin } from "./begin.ts";

declare const PIPELINE_RUNS_VERSION: string;

await begin(PIPELINE_RUNS_VERSION, () => import.meta.dirname);
