#!/usr/bin/env node
import { writeSync } from "node:fs";
import { keepCompiled } from "../machine/compiledFolder.ts";

declare const PIPELINE_RUNS_VERSION: string;

// Scripts and editors ask for the version most often, and it needs nothing of the tool.
if (!isVersionTold(process.argv.slice(2))) {
  keepCompiled();
  const { start } = await import("./start.ts");
  // Awaited: Node exits with code 13, not 0, when nothing is pending and this hasn't resolved.
  await start(PIPELINE_RUNS_VERSION, import.meta.dirname);
}

/** @returns false for any other line, and when the version can't be written at once: the parser then prints it. */
function isVersionTold([word, ...others]: readonly string[]): boolean {
  if ((word !== "--version" && word !== "-V") || others.length > 0) return false;
  const line = `${PIPELINE_RUNS_VERSION}\n`;
  try {
    return writeSync(1, line) === line.length;
  } catch {
    return false;
  }
}
