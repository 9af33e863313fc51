import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import * as z from "zod/mini";
import { Problem } from "../../scripts/problem.ts";
import { projectRoot } from "../../scripts/projectRoot.ts";
import type { TraceLine } from "./round.ts";

export interface Trace {
  readonly campaign: string;
  readonly seed: number;
  /** What was planned; it was cut short where the time was up. */
  readonly acts: readonly unknown[];
  readonly faults: readonly string[];
  /** What happened. */
  readonly lines: readonly TraceLine[];
}

const headSchema = z.object({ campaign: z.string(), seed: z.int() });

/**
 * Writes down a round that has found a fault, one JSON object a line: first what makes it again, then what happened. Its
 * folder, with the database and what the service has logged, is kept beside it.
 * @returns the file.
 */
export async function writeTrace(trace: Trace, folder: string, results: string): Promise<string> {
  const { lines, ...head } = trace;
  await mkdir(results, { recursive: true });
  const name = join(results, `${trace.campaign}-${trace.seed}`);
  await cp(folder, name, { recursive: true, force: true }).catch(() => {});
  const file = `${name}.ndjson`;
  await writeFile(file, [head, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(""));
  return file;
}

/** Which round a trace is of. @throws Problem where it can't be read. */
export async function readTrace(file: string): Promise<z.infer<typeof headSchema>> {
  try {
    const [head = ""] = (await readFile(file, "utf8")).split("\n", 1);
    return headSchema.parse(JSON.parse(head));
  } catch (cause) {
    throw new Problem(`${file} is no trace.`, "Name a file that a chaos test has written.", { cause });
  }
}

/** The command that replays a trace. */
export function replayCommand(traceFile: string): string {
  return `npm run chaos -- --replay ${relative(projectRoot, traceFile)}`;
}
