import { stripVTControlCharacters } from "node:util";
import type { Mask } from "../mask.ts";
import { shorten } from "./shorten.ts";

const longestWords = 300;

/** One sentence on why a browser's program didn't become a browser. */
export function describeLaunchProblem(path: string, error: unknown, mask: Mask): string {
  const message = error instanceof Error ? error.message : String(error);
  if (/No usable sandbox|setuid sandbox|SUID sandbox/i.test(message)) {
    return `${path} can't use its sandbox on this machine: allow its users namespaces of their own (the browser's own words: ${lastWords(message, mask)})`;
  }
  if (/Timeout .*exceeded/.test(message)) return `${path} was started, but didn't become ready within 30 s`;
  if (/Failed to launch: Error: spawn \S+ (EACCES|ENOEXEC)/.test(message)) {
    return `${path} can't be executed; a browser's \`executable\` is its program`;
  }
  return `${path} ended as soon as it was started: ${lastWords(message, mask)}`;
}

/** Of what the browser wrote, the last line that says something. */
function lastWords(message: string, mask: Mask): string {
  const lines = stripVTControlCharacters(message).split("\n");
  const written = lines.flatMap((line) => /\[pid=\d+\]\[(?:err|out)\] (.+)$/.exec(line)?.[1] ?? []);
  const said = written.at(-1) ?? lines[0]?.replace(/^.*?: /, "") ?? "";
  return shorten(mask.hide(said), longestWords);
}
