import { mkdir, open, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** A way to damage the files that a killed service leaves. */
interface Damage {
  readonly name: string;
  /** Whether it destroys something that a reply promised. Other damage must be repaired at the next start. */
  readonly takes: boolean;
  /** @param place from 0 up to 1: where in the file. */
  readonly make: (folder: string, place: number) => Promise<void>;
}

const pageSize = 4096;
const frameSize = pageSize + 24;
const wal = "runs.db-wal";
const main = "runs.db";

/** After the last commit, like a write cut short by a power failure. */
const tail = (name: string, bytes: (last: Buffer) => Buffer): Damage => ({
  name,
  takes: false,
  async make(folder) {
    const there = await readFile(join(folder, wal)).catch(() => Buffer.alloc(0));
    if (there.length === 0) return;
    await writeFile(join(folder, wal), Buffer.concat([there, bytes(there.subarray(-frameSize))]));
  },
});

const overwritten = (
  name: string,
  file: string,
  from: (size: number, place: number) => number,
  length: number,
): Damage => ({
  name,
  takes: true,
  async make(folder, place) {
    const path = join(folder, file);
    const size = (await stat(path).catch(() => undefined))?.size ?? 0;
    if (size === 0) return;
    const at = from(size, place);
    const handle = await open(path, "r+");
    await handle.write(
      Buffer.alloc(Math.min(length, size - at), "damage "),
      0,
      Math.min(length, size - at),
      at,
    );
    await handle.close();
  },
});

const cut = (name: string, file: string): Damage => ({
  name,
  takes: true,
  async make(folder, place) {
    const path = join(folder, file);
    const size = (await stat(path).catch(() => undefined))?.size ?? 0;
    await truncate(path, Math.floor(size * place)).catch(ignoreMissing);
  },
});

/** Replaces a file that the service makes anew at each start. */
const replaced = (file: string, what: "nothing" | "garbage" | "empty" | "folder"): Damage => ({
  name: `${file}: ${what}`,
  takes: false,
  async make(folder) {
    const path = join(folder, file);
    await rm(path, { force: true, recursive: true });
    if (what === "garbage") await writeFile(path, '{"url":"http://127.0.0.1:1","pid":1,', { mode: 0o600 });
    if (what === "empty") await writeFile(path, "", { mode: 0o600 });
    if (what === "folder") await mkdir(path);
  },
});

const logs = (name: string, change: (text: Buffer, place: number) => Buffer, takes: boolean): Damage => ({
  name,
  takes,
  async make(folder, place) {
    for (const run of await readdir(join(folder, "runs")).catch(() => [])) {
      const file = join(folder, "runs", run, "log.ndjson");
      const text = await readFile(file).catch(() => undefined);
      if (text !== undefined) await writeFile(file, change(text, place));
    }
  },
});

export const damages: readonly Damage[] = [
  tail("half a frame behind the changes", (last) => last.subarray(0, frameSize / 2)),
  tail("zeros behind the changes", () => Buffer.alloc(frameSize * 2)),
  tail("garbage behind the changes", () => Buffer.alloc(3 * frameSize, "damage ")),
  tail("an old frame behind the changes", (last) => last),
  replaced("runs.db-shm", "nothing"),
  replaced("runs.db-shm", "garbage"),
  replaced("service.json", "nothing"),
  replaced("service.json", "garbage"),
  replaced("service.json", "empty"),
  replaced("service.json", "folder"),
  replaced("service.port", "garbage"),
  replaced("service.port", "folder"),
  replaced("service.clock", "garbage"),
  replaced("service.clock", "folder"),
  replaced("service.lock", "nothing"),
  replaced("service.lock", "empty"),
  logs("half a line behind the logs", (text) => Buffer.concat([text, Buffer.from('{"sequence":9')]), false),
  cut("cut changes", wal),
  overwritten("overwritten changes", wal, (size, place) => Math.floor(size * place), 40),
  overwritten("first page", main, () => 0, pageSize),
  overwritten("header", main, () => 16, 84),
  overwritten("last pages", main, (size) => Math.max(0, size - 2 * pageSize), 2 * pageSize),
  overwritten("a page", main, (size, place) => Math.floor((size / pageSize) * place) * pageSize, pageSize),
  cut("cut database", main),
  logs("cut logs", (text, place) => text.subarray(0, Math.floor(text.length * place)), true),
  logs(
    "zeros in the logs",
    (text, place) => Buffer.from(text).fill(0, Math.floor(text.length * place)),
    true,
  ),
];

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
}
