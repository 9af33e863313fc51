#!/usr/bin/env node
import { writeSync } from "node:fs";
import { keepCompiled } from "../machine/compiledFolder.ts";

declare const PIPELINE_RUNS_VERSION: string;

// Answered first: scripts and editors ask for the version most often, and it needs nothing else of the tool.
if (!isVersionTold(process.argv.slice(2))) {
  keepCompiled();
  const { start } = await import("./start.ts");
  // Awaited, so that Node exits with code 13 rather than 0 if nothing is pending before this resolves.
  await start(PIPELINE_RUNS_VERSION, import.meta.dirname);
}

/** @returns false for any other line, and if the version can't be written at once: the parser prints it then. */
function isVersionTold([word, ...others]: readonly string[]): boolean {
  if ((word !== "--version" && word !== "-V") || others.length > 0) return false;
  const line = `${PIPELINE_RUNS_VERSION}\n`;
  try {
    return writeSync(1, line) === line.length;
  } catch {
    return false;
  }
}
