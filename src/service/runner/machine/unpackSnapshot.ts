import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { extract } from "tar";
import { PipelineError } from "../../../contract/errors.ts";

/** The most that a snapshot may hold; `bytes` as a tar. A bomb of a few bytes must fill no disk and no memory. */
const largest = { files: 100_000, bytes: 1024 * 1024 * 1024 } as const;

/**
 * Unpacks the files of a project into an empty folder. Whoever may start a run may send any archive, so nothing in it is
 * followed: only plain files and folders are taken, each below the folder.
 * @throws PipelineError `invalid-request` for anything else in it; what was unpacked until then is left there.
 */
export async function unpackSnapshot(
  archive: Uint8Array,
  folder: string,
  signal: AbortSignal,
  most: { readonly files: number; readonly bytes: number } = largest,
): Promise<void> {
  let files = 0;
  let bytes = 0;
  let problem: PipelineError | undefined;
  const refusing = new AbortController();
  const refuse = (why: string) => {
    problem ??= new PipelineError(
      "invalid-request",
      `The snapshot of the project can't be unpacked: ${why}.`,
      { next: "Start the run again from the project's folder." },
    );
    refusing.abort();
  };
  const into = extract({
    cwd: folder,
    strict: true,
    preserveOwner: false,
    noMtime: true,
    // It is unpacked already: an archive in the archive isn't.
    maxDecompressionRatio: 1,
    filter: (path, entry) => {
      const type = "type" in entry ? entry.type : "";
      files += 1;
      if (type !== "File" && type !== "OldFile" && type !== "ContiguousFile" && type !== "Directory") {
        refuse(`${path.slice(0, 200)} is a ${type}`);
      } else if (isOutside(path)) refuse(`${path.slice(0, 200)} leads out of it`);
      else if (files > most.files) refuse(`it has more than ${most.files} files`);
      return problem === undefined;
    },
  });
  const counted = async function* (pieces: AsyncIterable<Buffer>) {
    for await (const piece of pieces) {
      bytes += piece.length;
      if (bytes > most.bytes) return refuse(`it has more than ${most.bytes} bytes`);
      yield piece;
    }
  };
  try {
    await pipeline(Readable.from([archive]), createGunzip(), counted, into, {
      signal: AbortSignal.any([signal, refusing.signal]),
    });
  } catch (cause) {
    signal.throwIfAborted();
    throw (
      problem ?? new PipelineError("invalid-request", "The snapshot of the project is damaged.", { cause })
    );
  }
  if (problem !== undefined) throw problem;
}

function isOutside(path: string): boolean {
  return /^([\\/]|[A-Za-z]:)/.test(path) || path.split(/[\\/]/).includes("..");
}
