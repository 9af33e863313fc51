import { readFile } from "node:fs/promises";
import { endianness } from "node:os";
import { DatabaseSync } from "node:sqlite";
import { PipelineError } from "../../contract/errors.ts";
import type { Log } from "../log.ts";
import { busyMilliseconds, databaseFile } from "./openDatabase.ts";
import { damagedDatabase, storageFault } from "./storageFault.ts";

/** The log of changes (https://sqlite.org/walformat.html): its header, and that of each frame, in bytes. */
const headerSize = 32;
const frameHeaderSize = 24;
/** Its first four bytes; with the last bit set, its checksums go by big-endian words. */
const magic = 0x377f0682;

/**
 * Refuses a database whose log of changes was damaged so that what is left of both doesn't fit together. SQLite reads that
 * log up to the damage and goes on; but what is behind the damage may be in the database already, and then old pages are
 * put among new ones: rows that are in a table and not in its index, counts that are wrong, and no error.
 *
 * The index that a crash leaves behind says how much was put into the database; where that is more than the log still
 * holds, the two don't fit. Where it is gone, or the log breaks off in the midst, the database is looked through once: a
 * write that the crash cut short looks the same, and passes.
 *
 * To be called by who holds the folder, before the database is opened. Nothing is changed. Others may write meanwhile, as
 * `keys create` does: what is read of the two files then doesn't belong together, and is read again.
 *
 * @param read a file's bytes, none where it isn't there.
 * @throws PipelineError `internal` when it is damaged.
 */
export async function checkChanges(folder: string, log: Log, read: ReadFile = bytesOf): Promise<void> {
  const file = databaseFile(folder);
  const found = await readTogether(file, read);
  const { frames, breaksOff } = readChanges(found?.changes ?? nothing);
  const { known, putBack } = knownChanges(found?.index ?? nothing, found?.changes ?? nothing);
  if (found !== undefined && !breaksOff && known <= frames) return;
  log("warn", "the log of the last changes breaks off: the database is looked through", { frames, known });
  if (putBack > frames) {
    throw damagedDatabase(file, "the log of its last changes ends before what is in it already");
  }
  const verdict = lookThrough(file);
  if (verdict !== "ok") throw damagedDatabase(file, verdict);
}

type ReadFile = (file: string) => Promise<Buffer>;

const nothing = Buffer.alloc(0);

/** How often the two files are read at most. */
const mostReadings = 10;

/**
 * The log and its index as they were in one moment; undefined where they can't be read, as when the log is larger than any
 * buffer, or where others write so much that no two readings fit. Then only SQLite can tell.
 */
async function readTogether(
  file: string,
  read: ReadFile,
): Promise<{ readonly changes: Buffer; readonly index: Buffer } | undefined> {
  try {
    for (let readings = 0; readings < mostReadings; readings++) {
      const before = factsOf(await read(`${file}-shm`));
      const changes = await read(`${file}-wal`);
      const index = factsOf(await read(`${file}-shm`));
      // A commit is in the log before it is in the index, and the index is the first to be removed.
      if (index.equals(before)) return { changes, index };
    }
  } catch {
    // Who opens the database says what is wrong with the file.
  }
  return undefined;
}

/** What the index says of the log as a whole; behind it is where each page is found. */
function factsOf(index: Buffer): Buffer {
  return index.subarray(0, 100);
}

interface Changes {
  /** How many frames are whole, from the beginning. */
  readonly frames: number;
  /** Whether a frame that is not comes after them. */
  readonly breaksOff: boolean;
}

/** @param bytes the log's file, without which there are no changes. */
export function readChanges(bytes: Buffer): Changes {
  const none = { frames: 0, breaksOff: bytes.length > 0 };
  if (bytes.length < headerSize || (bytes.readUInt32BE(0) & ~1) >>> 0 !== magic) return none;
  const isBigEndian = (bytes.readUInt32BE(0) & 1) === 1;
  const pageSize = bytes.readUInt32BE(8);
  let sum = checksum(bytes.subarray(0, 24), [0, 0], isBigEndian);
  if (!stands(sum, bytes, 24) || pageSize < 512 || pageSize > 65_536) return none;
  const salt = bytes.subarray(16, 24);
  for (let frames = 0; ; frames++) {
    const at = headerSize + frames * (frameHeaderSize + pageSize);
    const page = at + frameHeaderSize;
    // What is left of an earlier round of the log has another salt: there the changes end.
    if (page > bytes.length || !bytes.subarray(at + 8, at + 16).equals(salt)) {
      return { frames, breaksOff: false };
    }
    if (page + pageSize > bytes.length) return { frames, breaksOff: true };
    sum = checksum(bytes.subarray(at, at + 8), sum, isBigEndian);
    sum = checksum(bytes.subarray(page, page + pageSize), sum, isBigEndian);
    if (!stands(sum, bytes, at + 16)) return { frames, breaksOff: true };
  }
}

type Sum = readonly [number, number];

function checksum(bytes: Buffer, [first, second]: Sum, isBigEndian: boolean): Sum {
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let [one, two] = [first, second];
  for (let at = 0; at < bytes.length; at += 8) {
    one = (one + words.getUint32(at, !isBigEndian) + two) >>> 0;
    two = (two + words.getUint32(at + 4, !isBigEndian) + one) >>> 0;
  }
  return [one, two];
}

function stands([one, two]: Sum, bytes: Buffer, at: number): boolean {
  return bytes.readUInt32BE(at) === one && bytes.readUInt32BE(at + 4) === two;
}

/**
 * How many frames the index of the log knows of, and how many of them are in the database already; none where it is of
 * another round of the log. It is written in this machine's order of bytes, and never ahead of what is on the disk.
 */
function knownChanges(index: Buffer, changes: Buffer): { readonly known: number; readonly putBack: number } {
  const isSet = index.length >= 100 && index[12] === 1;
  const isOther = changes.length >= headerSize && !index.subarray(32, 40).equals(changes.subarray(16, 24));
  if (!isSet || isOther) return { known: 0, putBack: 0 };
  const read = (at: number) => (endianness() === "LE" ? index.readUInt32LE(at) : index.readUInt32BE(at));
  return { known: read(16), putBack: read(96) };
}

/** What SQLite finds in the tables and their indexes; "ok" where all is well. For reading only, so that nothing is tidied up. */
function lookThrough(file: string): string {
  let sqlite: DatabaseSync | undefined;
  try {
    sqlite = new DatabaseSync(file, { readOnly: true });
    // Who ends beside this holds it for a moment.
    sqlite.exec(`pragma busy_timeout = ${busyMilliseconds}`);
    const found = sqlite.prepare("pragma integrity_check(1)").get();
    // The line before it, where there is one, names the only database that there is.
    return (
      String(Object.values(found ?? {})[0])
        .split("\n")
        .at(-1) ?? ""
    );
  } catch (error) {
    const fault = storageFault(error, file);
    if (fault instanceof PipelineError) throw fault;
    return error instanceof Error ? error.message : String(error);
  } finally {
    sqlite?.close();
  }
}

async function bytesOf(file: string): Promise<Buffer> {
  // What can't be read is told by who opens it.
  return readFile(file).catch(() => Buffer.alloc(0));
}
