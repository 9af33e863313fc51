import { spawn } from "node:child_process";
import { once } from "node:events";
import { text as readText } from "node:stream/consumers";

/** What a program that lists processes wrote, and its own id, because it lists itself too. */
interface Listing {
  readonly text: string;
  readonly pid: number | undefined;
}

/** @throws when the program can't be started, or fails: what it wrote then is no list, and must not pass for an empty one. */
export async function listing(
  program: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Listing> {
  const child = spawn(program, words, { stdio: ["ignore", "pipe", "ignore"], windowsHide: true, env });
  const closed = once(child, "close");
  const [text, [code]] = await Promise.all([readText(child.stdout), closed]);
  if (code !== 0) throw new Error(`${program} ended with ${String(code)}`);
  return { text, pid: child.pid };
}

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
}

/** The entries that `isOurs` picks, and everything that descends from them. */
export function withDescendants<Entry extends ProcessEntry>(
  entries: readonly Entry[],
  isOurs: (entry: Entry) => boolean,
): readonly number[] {
  const children = Map.groupBy(entries, ({ parent }) => parent);
  const found = new Set<number>();
  const waiting = entries.filter(isOurs);
  for (let entry = waiting.pop(); entry !== undefined; entry = waiting.pop()) {
    if (found.has(entry.pid)) continue;
    found.add(entry.pid);
    waiting.push(...(children.get(entry.pid) ?? []));
  }
  return [...found];
}
