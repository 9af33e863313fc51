import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod/mini";
import type { Log } from "../log.ts";

interface Deps {
  /** The data folder. */
  readonly folder: string;
  /** The time of the newest run, in milliseconds since 1970, or 0: what is trusted where the file is missing. */
  readonly newestRun: () => Promise<number>;
  readonly log: Log;
}

/** In milliseconds since 1970. */
const storedSchema = z.object({
  believed: z.number(),
  /** The clock's time when it was first found to have leapt ahead. */
  leaptTo: z.optional(z.number()),
});

type Stored = z.infer<typeof storedSchema>;

/** The file of the trusted time in the data folder. */
export function clockFile(folder: string): string {
  return join(folder, "service.clock");
}

/** A clock that leaps by more than this is trusted only after the same time. */
const dayMilliseconds = 86_400_000;

/**
 * The time of day for what can't be undone, such as removing an old log. A clock that is wrongly days ahead must not remove
 * what is of today: one that has leapt by more than a day since the last call is trusted only a day later, and until then
 * the time before the leap is. A clock that goes back is trusted at once, since that keeps more.
 */
export class TrustedTime {
  readonly #deps: Deps;
  #lastTime: number | undefined;
  #stored: Stored | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** @param now the clock's time. @returns the trusted time; both in milliseconds since 1970. */
  async at(now: number): Promise<number> {
    const before = this.#stored ??
      (await this.#read()) ?? { believed: (await this.#deps.newestRun()) || now };
    const after = judge(before, now, this.#lastTime);
    if (after.leaptTo !== undefined && before.leaptTo === undefined) {
      this.#deps.log(
        "warn",
        "the clock has leapt ahead: until it has said so for a day, no files of runs are removed for it",
        {
          from: new Date(after.believed).toISOString(),
        },
      );
    }
    this.#lastTime = now;
    this.#stored = after;
    await this.#write(after);
    return after.believed;
  }

  async #read(): Promise<Stored | undefined> {
    try {
      const read = storedSchema.safeParse(JSON.parse(await readFile(clockFile(this.#deps.folder), "utf8")));
      return read.success ? read.data : undefined;
    } catch {
      return undefined;
    }
  }

  /** Where it can't be written, as on a full disk, this start of the service goes by its memory. */
  async #write(stored: Stored): Promise<void> {
    const file = clockFile(this.#deps.folder);
    const fresh = `${file}.new`;
    try {
      await writeFile(fresh, `${JSON.stringify(stored)}\n`, { mode: 0o600 });
      await rename(fresh, file);
    } catch (error) {
      await rm(fresh, { force: true }).catch(() => undefined);
      this.#deps.log("error", "the time could not be stored", { error });
    }
  }
}

/** @param lastTime the clock's time at the last call: a leap since then is a new one. */
function judge({ believed, leaptTo }: Stored, now: number, lastTime: number | undefined): Stored {
  if (now <= believed + dayMilliseconds) return { believed: now };
  const leapsAgain = lastTime !== undefined && now > lastTime + dayMilliseconds;
  if (leaptTo === undefined || now < leaptTo || leapsAgain) return { believed, leaptTo: now };
  return now >= leaptTo + dayMilliseconds ? { believed: now } : { believed, leaptTo };
}
