#!/usr/bin/env node
import { writeSync } from "node:fs";
import module from "node:module";
import { compiledFolder } from "./compiledFolder.ts";

declare const PIPELINE_RUNS_VERSION: string;

// Scripts and editors ask for the version more often than for all else, and it needs nothing of the tool.
if (!isVersionTold(process.argv.slice(2))) {
  keepCompiled(compiledFolder(process.env, process.platform));
  const { start } = await import("./start.ts");
  // Node ends with exit code 13 where nothing is left to wait for and this isn't done: nobody may take it for that.
  await start(PIPELINE_RUNS_VERSION, import.meta.dirname);
}

/** @returns false for any other line, and where the version can't be written at once: the parser then tells it, or why not. */
function isVersionTold([word, ...others]: readonly string[]): boolean {
  if ((word !== "--version" && word !== "-V") || others.length > 0) return false;
  const line = `${PIPELINE_RUNS_VERSION}\n`;
  try {
    return writeSync(1, line) === line.length;
  } catch {
    return false;
  }
}

function keepCompiled(folder: string | undefined): void {
  if (folder === undefined) return;
  // Node makes a folder in it that anybody may write to.
  const mask = process.umask(0o077);
  // Node.js has it since 22.8.
  module.enableCompileCache?.(folder);
  process.umask(mask);
}
