import { createHash } from "node:crypto";
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import type { Installed } from "../begin.ts";
import { ownFolder } from "../ownFolder.ts";
import { type Archive, archiveMark } from "./archive.ts";

interface UnpackDeps {
  /** The file that holds the archive, absolute. */
  readonly file: string;
  /** Cache folders, absolute; the first that can be used is. */
  readonly places: readonly string[];
  /** In milliseconds. */
  readonly now: number;
}

const dayMilliseconds = 86_400_000;
/** After how many days a version that nobody used is thrown away. */
const keptDays = 30;

/**
 * The programs, below one of the places: unpacked when one of them isn't there, which is the first time and
 * after someone has tidied up. Each version has a folder of its own, so a service that still runs keeps its programs when the
 * file is replaced by another version. Any number of tools may do this at the same time.
 *
 * @throws Error that says why it can't be unpacked and what to do.
 */
export function unpack(archive: Archive, { file, places, now }: UnpackDeps): Installed {
  const problems: string[] = [];
  for (const place of places) {
    try {
      const cache = ownFolder(place);
      const versions = ownFolder(join(cache, "one-file"));
      const folder = ownFolder(join(versions, `${archive.version}-${archive.sha256.slice(0, 16)}`));
      const missing = archive.files.filter(([path, size]) => sizeOf(join(folder, path)) !== size);
      if (missing.length > 0) {
        write(archive, readArchive(archive, file), folder, new Set(missing.map(([path]) => path)));
        removeUnused(versions, now);
      }
      markUsed(folder, now);
      return { programs: folder, cache };
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(
    `the tool's programs can't be unpacked${problems.length === 0 ? "" : ` (${problems.join("; ")})`}. Name a folder of your own with PIPELINE_CACHE_DIR.`,
  );
}

function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}

/** @throws Error when the file was cut off or changed. */
function readArchive(archive: Archive, file: string): Buffer {
  const text = readFileSync(file, "latin1");
  const from = text.lastIndexOf(archiveMark);
  const bytes = from < 0 ? undefined : decompress(text.slice(from + archiveMark.length));
  if (bytes === undefined || createHash("sha256").update(bytes).digest("hex") !== archive.sha256) {
    throw new Error(`${file} is damaged: download it again`);
  }
  return bytes;
}

function decompress(text: string): Buffer | undefined {
  try {
    return brotliDecompressSync(Buffer.from(text.slice(0, text.indexOf("*/")), "base64"));
  } catch {
    return undefined;
  }
}

function write(archive: Archive, bytes: Buffer, folder: string, missing: ReadonlySet<string>): void {
  let at = 0;
  for (const [path, size] of archive.files) {
    const content = bytes.subarray(at, at + size);
    at += size;
    if (missing.has(path)) writeWhole(join(folder, path), content);
  }
}

/** Another tool, which may be doing the same, never finds half a file. */
function writeWhole(path: string, content: Buffer): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const half = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(half, content, { mode: 0o600 });
    renameSync(half, path);
  } catch (error) {
    rmSync(half, { force: true });
    // On Windows it can't be replaced while another tool reads it: then that one's is the same.
    if (sizeOf(path) !== content.length) throw error;
  }
}

function markUsed(folder: string, now: number): void {
  if (now - statSync(folder).mtimeMs < dayMilliseconds) return;
  const seconds = now / 1000;
  utimesSync(folder, seconds, seconds);
}

function removeUnused(versions: string, now: number): void {
  for (const name of readdirSync(versions)) {
    const folder = join(versions, name);
    try {
      if (now - lstatSync(folder).mtimeMs > keptDays * dayMilliseconds) {
        rmSync(folder, { recursive: true, force: true });
      }
    } catch {
      // Another tool is doing the same.
    }
  }
}
