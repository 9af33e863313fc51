/** What the file of the whole tool holds: the programs, one after the other, compressed by brotli. */
export interface Archive {
  /** Names the folder that it is unpacked into. */
  readonly version: string;
  /** Of all its bytes, unpacked, in hexadecimal. */
  readonly sha256: string;
  /** In their order: the path below the folder, with `/`, and the size in bytes. */
  readonly files: readonly (readonly [path: string, size: number])[];
}

/** Stands before the archive, which is written in Base64, in the file; a comment ends it. */
export const archiveMark = "/*pipeline-runs archive:";
