import { mkdir, writeFile } from "node:fs/promises";
import { posix } from "node:path";
import { importSource } from "./importSource.mjs";

/** Writes pipeline(1). @returns the files that were made. */
export async function buildManPage(outdir, version) {
  const { toolManPage } = await importSource("src/cli/toolPages.ts");
  const folder = posix.join(outdir, "man");
  await mkdir(folder, { recursive: true });
  const path = posix.join(folder, "pipeline.1");
  await writeFile(path, toolManPage(version));
  return [path];
}
