import { spawn } from "node:child_process";
import { text as readText } from "node:stream/consumers";

/** What a program that lists processes wrote, and its own id, because it lists itself too. */
interface Listing {
  readonly text: string;
  readonly pid: number | undefined;
}

/** @throws when the program can't be started. */
export async function listing(program: string, words: readonly string[]): Promise<Listing> {
  const child = spawn(program, words, { stdio: ["ignore", "pipe", "ignore"], windowsHide: true });
  const failed = new Promise<never>((_resolve, reject) => child.once("error", reject));
  const text = await Promise.race([readText(child.stdout), failed]);
  return { text, pid: child.pid };
}
