import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod/mini";
import type { Log } from "../log.ts";

interface Deps {
  /** The data folder. */
  readonly folder: string;
  /** The time of the newest run, in milliseconds since 1970: what is believed where nothing was kept; 0 where there is none. */
  readonly newestRun: () => Promise<number>;
  readonly log: Log;
}

/** In milliseconds since 1970. */
const keptSchema = z.object({
  believed: z.number(),
  /** What the clock said when it was first found too far ahead to be believed. */
  leaptTo: z.optional(z.number()),
});

type Kept = z.infer<typeof keptSchema>;

/** The file in the data folder in which the time that is believed is kept. */
export function clockFile(folder: string): string {
  return join(folder, "service.clock");
}

/** How far a clock may go on between two looks and be believed at once; one that leaps further, only after so long. */
const dayMilliseconds = 86_400_000;

/**
 * The time of day for what can't be undone, such as to remove the log of a run because it is old. A clock that is days
 * ahead, as after a wrong setting or a machine without a battery, must not remove what is of today. So one that has leapt
 * by more than a day since the last look is believed only when it still says so a day later; until then the time before
 * the leap is. A clock that goes back is believed at once, since that keeps more.
 */
export class BelievedTime {
  readonly #deps: Deps;
  #lastLook: number | undefined;
  #kept: Kept | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** @param now what the clock says. @returns the time that is believed; both in milliseconds since 1970. */
  async at(now: number): Promise<number> {
    const before = this.#kept ?? (await this.#read()) ?? { believed: (await this.#deps.newestRun()) || now };
    const after = judge(before, now, this.#lastLook);
    if (after.leaptTo !== undefined && before.leaptTo === undefined) {
      this.#deps.log(
        "warn",
        "the clock has leapt ahead: until it has said so for a day, no files of runs are removed for it",
        {
          from: new Date(after.believed).toISOString(),
        },
      );
    }
    this.#lastLook = now;
    this.#kept = after;
    await this.#write(after);
    return after.believed;
  }

  async #read(): Promise<Kept | undefined> {
    try {
      const read = keptSchema.safeParse(JSON.parse(await readFile(clockFile(this.#deps.folder), "utf8")));
      return read.success ? read.data : undefined;
    } catch {
      return undefined;
    }
  }

  /** Where it can't be written, as on a full disk, this start of the service goes by what it has seen itself. */
  async #write(kept: Kept): Promise<void> {
    const file = clockFile(this.#deps.folder);
    const fresh = `${file}.new`;
    try {
      await writeFile(fresh, `${JSON.stringify(kept)}\n`, { mode: 0o600 });
      await rename(fresh, file);
    } catch (error) {
      await rm(fresh, { force: true }).catch(() => undefined);
      this.#deps.log("error", "the time could not be kept", { error });
    }
  }
}

/** @param lastLook what the clock said at this program's last look: a leap since then is a new one. */
function judge({ believed, leaptTo }: Kept, now: number, lastLook: number | undefined): Kept {
  if (now <= believed + dayMilliseconds) return { believed: now };
  const leapsAgain = lastLook !== undefined && now > lastLook + dayMilliseconds;
  if (leaptTo === undefined || now < leaptTo || leapsAgain) return { believed, leaptTo: now };
  return now >= leaptTo + dayMilliseconds ? { believed: now } : { believed, leaptTo };
}
