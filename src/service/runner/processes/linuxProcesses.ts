import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type ProcessTable, type RunTraces, runMarker } from "./processTable.ts";
import { type ProcessEntry, withDescendants } from "./withDescendants.ts";

interface LinuxEntry extends ProcessEntry {
  readonly runId: string | undefined;
}

/** Reads `/proc`. Only the marker decides: a process id of ours may by now belong to a stranger, the marker never does. */
export class LinuxProcesses implements ProcessTable {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async processesOf(run: RunTraces): Promise<readonly number[]> {
    const names = (await readdir(this.#folder)).filter((name) => /^\d+$/.test(name));
    const entries = await Promise.all(names.map((name) => this.#read(name)));
    return withDescendants(
      entries.filter((entry) => entry !== undefined),
      (entry) => entry.runId === run.runId,
    );
  }

  async #read(name: string): Promise<LinuxEntry | undefined> {
    const stat = parseStat(await readProcFile(join(this.#folder, name, "stat")));
    if (stat === undefined || stat.state === "Z" || stat.state === "X") return undefined;
    const environment = await readProcFile(join(this.#folder, name, "environ"));
    return { pid: Number(name), parent: stat.parent, runId: markerIn(environment ?? "") };
  }
}

/** The program's name stands in parentheses and may hold any character, so the fields are counted behind the last one. */
export function parseStat(text: string | undefined): { state: string; parent: number } | undefined {
  if (text === undefined) return undefined;
  const [state, parent] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return state === undefined || parent === undefined ? undefined : { state, parent: Number(parent) };
}

function markerIn(environment: string): string | undefined {
  const prefix = `${runMarker}=`;
  return environment
    .split("\0")
    .find((variable) => variable.startsWith(prefix))
    ?.slice(prefix.length);
}

/** @returns undefined when the process has ended meanwhile, or is another user's. */
async function readProcFile(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "latin1");
  } catch {
    return undefined;
  }
}
