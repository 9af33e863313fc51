import { createHash, randomUUID } from "node:crypto";
import { watch } from "node:fs";
import { readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import * as z from "zod/mini";
import { makeFolder } from "../../client/makeFolder.ts";
import { orgSchema } from "../../contract/org.ts";
import { tryLock } from "./lockFile.ts";

/** What a service that has to be asked said last to one of the windows. Times are in milliseconds since 1970. */
const saidSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("org"),
    /** When it came, on this machine's clock. */
    at: z.number(),
    /** When the service said it, on its own clock. */
    servedAt: z.number(),
    org: orgSchema,
  }),
  z.object({
    kind: z.literal("fault"),
    at: z.number(),
    message: z.string(),
    next: z.string(),
    /** Until when nobody should ask again. */
    retryAt: z.number(),
    /** Whether the service itself wants to be left in peace until then. */
    asWanted: z.boolean(),
    /** How many in a row. */
    count: z.number(),
  }),
]);

export type Said = z.infer<typeof saidSchema>;

/** What the windows that ask one service with one key know together, so that one of them asks for all. */
export interface SharedNumbers {
  read(): Promise<Said | undefined>;
  write(said: Said): Promise<void>;
  /** The right to ask; undefined while another window does. @returns the way to give it back. */
  tryLock(): Promise<(() => Promise<void>) | undefined>;
  /** Calls back when what was said may have changed. */
  onDidChange(listener: () => void): { dispose(): void };
}

/** The numbers of a window that shares them with none. */
export function aloneNumbers(): SharedNumbers {
  return {
    read: async () => undefined,
    write: async () => {},
    tryLock: async () => async () => {},
    onDidChange: () => ({ dispose: () => {} }),
  };
}

/** Longer than a request may take. */
const longestAsking = 15_000;
const keptFor = 86_400_000;

/**
 * The numbers as a file of the extension's own folder, for this user only. Its name tells nothing of the service and the
 * key, and the key is not in it. Where no file can be kept, each window is alone.
 */
export class NumbersFile implements SharedNumbers {
  readonly #folder: string;
  readonly #file: string;

  /**
   * @param folder the same for all windows of this user on this machine.
   * @param key its windows alone share what it was told.
   */
  constructor(folder: string, baseUrl: URL, key: string) {
    this.#folder = join(folder, "numbers");
    const name = createHash("sha256").update(`numbers\n${baseUrl.href}\n${key}`).digest("hex").slice(0, 32);
    this.#file = join(this.#folder, `${name}.json`);
  }

  async read(): Promise<Said | undefined> {
    try {
      const read = saidSchema.safeParse(JSON.parse(await readFile(this.#file, "utf8")), { jitless: true });
      return read.success ? read.data : undefined;
    } catch {
      return undefined;
    }
  }

  async write(said: Said): Promise<void> {
    const fresh = `${this.#file}.${randomUUID()}`;
    try {
      await makeFolder(this.#folder);
      await writeFile(fresh, JSON.stringify(said), { mode: 0o600, flag: "wx" });
      await rename(fresh, this.#file);
    } catch {
      await rm(fresh, { force: true }).catch(() => undefined);
    }
  }

  async tryLock(): Promise<(() => Promise<void>) | undefined> {
    try {
      await makeFolder(this.#folder);
      return await tryLock(`${this.#file}.asking`, longestAsking);
    } catch {
      return async () => {};
    }
  }

  onDidChange(listener: () => void): { dispose(): void } {
    const name = basename(this.#file);
    const ended = new AbortController();
    const begin = async () => {
      await makeFolder(this.#folder);
      await this.#tidy();
      if (ended.signal.aborted) return;
      const watching = watch(this.#folder, { persistent: false, signal: ended.signal }, (_, changed) => {
        if (changed === name) listener();
      });
      // Without it, a window learns of the others' numbers when it would ask itself.
      watching.on("error", () => {});
    };
    void begin().catch(() => undefined);
    return { dispose: () => ended.abort() };
  }

  /** Keys and services come and go; what nobody has asked for a day is nobody's. */
  async #tidy(): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      const file = join(this.#folder, name);
      const kept = await stat(file).catch(() => undefined);
      if (kept !== undefined && Date.now() - kept.mtimeMs > keptFor) await rm(file, { force: true });
    }
  }
}
