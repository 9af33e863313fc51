import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { extract } from "tar";
import { PipelineError } from "../../contract/errors.ts";
import { anySignal } from "../../machine/anySignal.ts";
import { shortageOf } from "../../project/systemErrors.ts";

/**
 * The most that a snapshot may hold: `files` includes the folders, `bytes` is the tar's. An archive of a few bytes must not fill
 * the disk or the memory.
 */
const largest = { files: 100_000, bytes: 1024 * 1024 * 1024 } as const;
/** The most folders that one may be in. More is no project, but a tree that is hard to remove. */
const deepest = 64;
const next = "Start the run again from the project's folder.";

/**
 * Unpacks the files of a project into an empty folder. Whoever may start a run may send any archive, so nothing in it is
 * followed: only plain files and folders are taken, each below the folder.
 * @throws PipelineError `invalid-request` for anything else in it; the system's error for a full disk. What was unpacked by then
 * stays there.
 */
export async function unpackSnapshot(
  archive: Uint8Array,
  folder: string,
  signal: AbortSignal,
  most: { readonly files: number; readonly bytes: number } = largest,
): Promise<void> {
  let files = 0;
  let previous: readonly string[] = [];
  let bytes = 0;
  let problem: PipelineError | undefined;
  const refusing = new AbortController();
  const stopped = anySignal([signal, refusing.signal]);
  const refuse = (why: string) => {
    problem ??= new PipelineError(
      "invalid-request",
      `The snapshot of the project can't be unpacked: ${why}.`,
      { next },
    );
    refusing.abort();
  };
  const into = extract({
    cwd: folder,
    strict: true,
    preserveOwner: false,
    noMtime: true,
    // The tar is decompressed already, and isn't decompressed once more.
    maxDecompressionRatio: 1,
    filter: (path, entry) => {
      const type = "type" in entry ? entry.type : "";
      const segments = path.replace(/[\\/]$/, "").split(/[\\/]/);
      files += countNew(segments, previous);
      previous = segments;
      if (type !== "File" && type !== "OldFile" && type !== "ContiguousFile" && type !== "Directory") {
        refuse(`${path.slice(0, 200)} is a ${type}`);
      } else if (isOutside(path, segments)) refuse(`${path.slice(0, 200)} leads out of it`);
      else if (segments.length - 1 > deepest)
        refuse(`${path.slice(0, 200)} is in more than ${deepest} folders`);
      else if (files > most.files) refuse(`it has more than ${most.files} files and folders`);
      return problem === undefined;
    },
  });
  into.on("error", (error) => refusing.abort(error));
  // Waited for by hand: `pipeline` takes this stream for one of Node's, and misses how some archives end.
  const write = async (pieces: AsyncIterable<Buffer>): Promise<void> => {
    for await (const piece of pieces) {
      bytes += piece.length;
      if (bytes > most.bytes) return refuse(`it has more than ${most.bytes} bytes`);
      if (!into.write(piece)) await once(into, "drain", { signal: stopped });
    }
    const closed = once(into, "close", { signal: stopped });
    into.end();
    await closed;
  };
  try {
    await pipeline(Readable.from([archive]), createGunzip(), write, { signal: stopped });
  } catch (error) {
    signal.throwIfAborted();
    const cause = refusing.signal.reason ?? error;
    const refusal = await refusalOf(cause, folder);
    // Not the archive's fault.
    if (shortageOf(refusal) !== undefined) throw refusal;
    throw (
      problem ??
      new PipelineError("invalid-request", "The snapshot of the project is damaged.", { next, cause })
    );
  }
  if (problem !== undefined) throw problem;
}

/** What the system says of a new folder, where it has refused something: tar doesn't tell why a folder can't be made. */
async function refusalOf(cause: unknown, folder: string): Promise<unknown> {
  if (shortageOf(cause) !== undefined || !(cause instanceof Error && "syscall" in cause)) return cause;
  return mkdtemp(join(folder, "try-")).then(
    () => cause,
    (error: unknown) => error,
  );
}

function isOutside(path: string, segments: readonly string[]): boolean {
  return /^([\\/]|[A-Za-z]:)/.test(path) || segments.includes("..");
}

/**
 * How many files and folders an entry may add, since the folders that its path names are made with it: those that the entry
 * before it isn't in. In an archive sorted by path this counts each once, and never too few in any other.
 */
function countNew(segments: readonly string[], previous: readonly string[]): number {
  const first = segments.findIndex((segment, index) => segment !== previous[index]);
  return first === -1 ? 1 : segments.length - first;
}
