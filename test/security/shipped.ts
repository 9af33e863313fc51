import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { unzipSync } from "fflate";
import { list } from "tar";
import * as z from "zod/mini";
import { projectRoot } from "../../scripts/projectRoot.ts";

/** The files of a package as people get it, by their paths in it. */
export type Contents = ReadonlyMap<string, Buffer>;

/** The extension's package, which is a zip file. */
export async function contentsOfVsix(): Promise<Contents> {
  const files = unzipSync(await readFile(join(projectRoot, "pipeline-runs.vsix")));
  return new Map(Object.entries(files).map(([name, bytes]) => [name, Buffer.from(bytes)]));
}

/** The tool's package for npm, a tar file. */
export async function contentsOfTool(): Promise<Contents> {
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(await readFile(join(projectRoot, "package.json"), "utf8")));
  return untar(join(projectRoot, "dist-npm", `pipeline-runs-${version}.tgz`));
}

async function untar(file: string): Promise<Contents> {
  const files = new Map<string, Buffer>();
  const reading: Promise<unknown>[] = [];
  await list({
    file,
    onReadEntry: (entry) =>
      reading.push(entry.concat().then((bytes) => files.set(String(entry.path), Buffer.from(bytes)))),
  });
  await Promise.all(reading);
  return files;
}
