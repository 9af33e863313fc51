import { delimiter, join } from "node:path";
import { aptInstall, canInstall, isExecutable } from "../../scripts/process/aptInstall.ts";
import type { Shell } from "../../src/cli/completion/scripts.ts";

/** A shell's program, installed where that can be done; otherwise says why its tests are not there. */
export async function shellOf(name: Shell): Promise<string | undefined> {
  if (process.platform === "win32") return undefined;
  const found = await find(name);
  if (found !== undefined) return found;
  try {
    if (await canInstall()) await aptInstall(name, "", AbortSignal.timeout(180_000));
  } catch (error) {
    console.log(error instanceof Error ? error.message : error);
  }
  const installed = await find(name);
  if (installed === undefined) console.log(`There is no ${name} here, so nothing is completed in it.`);
  return installed;
}

async function find(name: string): Promise<string | undefined> {
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    if (folder !== "" && (await isExecutable(join(folder, name)))) return join(folder, name);
  }
  return undefined;
}
