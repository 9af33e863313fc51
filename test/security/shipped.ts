import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { inflateRawSync } from "node:zlib";
import { list } from "tar";
import * as z from "zod/mini";
import { projectRoot } from "../../scripts/projectRoot.ts";

/** The files of a package as people get it, by their paths in it. */
export type Contents = ReadonlyMap<string, Buffer>;

/** The extension's package, which is a zip file. */
export async function contentsOfVsix(): Promise<Contents> {
  return unzip(await readFile(join(projectRoot, "pipeline-runs.vsix")));
}

/** The tool's package for npm, a tar file. */
export async function contentsOfTool(): Promise<Contents> {
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(await readFile(join(projectRoot, "package.json"), "utf8")));
  return untar(join(projectRoot, "dist-npm", `pipeline-runs-${version}.tgz`));
}

/** By the central directory at its end (APPNOTE 4.3.12); names are UTF-8, methods are stored and deflate. */
function unzip(bytes: Buffer): Contents {
  const files = new Map<string, Buffer>();
  const end = bytes.lastIndexOf(Buffer.from("PK\x05\x06"));
  let at = bytes.readUInt32LE(end + 16);
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left--) {
    const [method, size] = [bytes.readUInt16LE(at + 10), bytes.readUInt32LE(at + 20)];
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((from) =>
      bytes.readUInt16LE(at + from),
    );
    const local = bytes.readUInt32LE(at + 42);
    const begin = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const data = bytes.subarray(begin, begin + size);
    const name = bytes.toString("utf8", at + 46, at + 46 + (nameLength ?? 0));
    files.set(name, method === 0 ? data : inflateRawSync(data));
    at += 46 + (nameLength ?? 0) + (extraLength ?? 0) + (commentLength ?? 0);
  }
  return files;
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
