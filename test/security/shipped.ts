import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync, inflateRawSync } from "node:zlib";
import * as z from "zod/mini";
import { projectRoot } from "../../scripts/projectRoot.ts";
import { archiveMark } from "../../src/cli/oneFile/archive.ts";

/** The files of a package as people get it, by their paths in it. */
export type Contents = ReadonlyMap<string, Buffer>;

/** The extension's package, which is a zip file. */
export async function contentsOfVsix(): Promise<Contents> {
  return unzip(await readFile(join(projectRoot, "pipeline-runs.vsix")));
}

/** The tool's package for npm, a tar file, and its one file, whose programs stand in an archive; "" is the file itself. */
export async function contentsOfTool(): Promise<{ readonly npm: Contents; readonly oneFile: Contents }> {
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(await readFile(join(projectRoot, "package.json"), "utf8")));
  const packed = await readFile(join(projectRoot, "dist-npm", `pipeline-runs-${version}.tgz`));
  return {
    npm: untar(gunzipSync(packed)),
    oneFile: unpackOne(await readFile(join(projectRoot, "dist-one/pipeline.cjs"))),
  };
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

/** By its headers of 512 bytes (POSIX ustar); npm writes no names longer than they hold, and nothing but files. */
function untar(bytes: Buffer): Contents {
  const files = new Map<string, Buffer>();
  const textAt = (from: number, length: number) =>
    bytes.toString("utf8", from, from + length).split("\0")[0] ?? "";
  for (let at = 0; at + 512 <= bytes.length; ) {
    const prefix = textAt(at + 345, 155);
    const name = `${prefix === "" ? "" : `${prefix}/`}${textAt(at, 100)}`;
    if (name === "") break;
    const size = Number.parseInt(textAt(at + 124, 12), 8);
    files.set(name, bytes.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

/** Its list of files stands in its program, as `[path, size]` pairs in the archive's order. */
function unpackOne(file: Buffer): Contents {
  const text = file.toString("latin1");
  const mark = text.lastIndexOf(archiveMark);
  const archive = brotliDecompressSync(
    Buffer.from(text.slice(mark + archiveMark.length, text.lastIndexOf("*/")), "base64"),
  );
  const files = new Map<string, Buffer>([["", file.subarray(0, mark)]]);
  let at = 0;
  for (const [, name = "", size = ""] of text.slice(0, mark).matchAll(/\["([^"]+)",([\de.]+)\]/g)) {
    files.set(name, archive.subarray(at, at + Number(size)));
    at += Number(size);
  }
  if (at !== archive.length) throw new Error("the one file's list of files can't be read");
  return files;
}
