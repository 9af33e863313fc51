import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import * as z from "zod/mini";
import { dayMilliseconds } from "../../contract/day.ts";
import { PipelineError } from "../../contract/errors.ts";
import { retentionDays } from "../../contract/limits.ts";
import { repeat } from "../../machine/bell.ts";
import type { Clock } from "../../machine/clock.ts";
import type { Log } from "../../machine/log.ts";
import { replaceFile } from "../../machine/privateFile.ts";
import { ifThere } from "../../project/systemErrors.ts";
import { newestIdTime } from "../store/ids.ts";
import { type EndedRun, endedRunsWithFiles, keepsFiles, markFilesRemoved } from "../store/runFiles.ts";
import type { Database } from "../store/tables.ts";
import type { Writer } from "../store/writer.ts";
import { runFolder, runsFolder } from "./runFolder.ts";

/** How long the logs and artifacts of ended runs are kept. The runs themselves stay for good. */
export interface Retention {
  readonly days: number;
  /** For all runs together; the oldest files go first. */
  readonly bytes: number;
}

export const defaultRetention: Retention = { days: retentionDays.byDefault, bytes: 2 * 1024 ** 3 };

/**
 * The days that `PIPELINE_RETENTION_DAYS` names; undefined where it names none.
 * @throws PipelineError `usage` for what is no such number.
 */
export function retentionDaysOf(env: Readonly<Record<string, string | undefined>>): number | undefined {
  const written = env["PIPELINE_RETENTION_DAYS"] ?? "";
  if (written === "") return undefined;
  const days = /^\d{1,4}$/.test(written) ? Number(written) : 0;
  if (days >= 1 && days <= retentionDays.atMost) return days;
  throw new PipelineError("usage", `PIPELINE_RETENTION_DAYS is \`${written.slice(0, 40)}\`.`, {
    next: `Set it to a whole number of days from 1 to ${retentionDays.atMost}, or to nothing for ${retentionDays.byDefault}.`,
  });
}

const sweepMilliseconds = 3_600_000;

/**
 * Removes the files of runs that are past their retention, now and each hour.
 * @returns a function that stops it, which resolves when nothing is being removed any more.
 */
export function sweepHourly(deps: SweepDeps & { readonly clock: Clock }): () => Promise<void> {
  const { clock, db, folder, log } = deps;
  const time = new TrustedTime({ folder, newestRun: () => newestIdTime(db), log });
  const { stop } = repeat(clock, sweepMilliseconds, async () => {
    try {
      const count = await sweepRuns(deps, await time.at(clock.now()));
      if (count > 0) log("info", "files of runs removed", { runs: count });
    } catch (error) {
      log("error", "files of runs not removed", { error });
    }
  });
  return stop;
}

interface SweepDeps {
  readonly db: Database;
  readonly writer: Writer;
  /** The data folder. */
  readonly folder: string;
  readonly retention: Retention;
  readonly log: Log;
}

/** The runs of one transaction, so that other requests don't wait for long. */
const batchSize = 100;

/**
 * Removes the files of runs that ended too long ago, then of the oldest until the rest fits, then folders without a run.
 * The database says so first: a service that dies in between goes on the next time.
 *
 * @returns the number of runs whose files were removed.
 */
export async function sweepRuns(
  { db, writer, folder, retention, log }: SweepDeps,
  now: number,
): Promise<number> {
  const oldest = now - retention.days * dayMilliseconds;
  let removed = 0;
  let bytes = 0;
  let last: EndedRun | undefined;
  do {
    const page: readonly EndedRun[] = await endedRunsWithFiles(db, last, batchSize);
    const old: string[] = [];
    for (const { runId, stoppedAt } of page) {
      if (stoppedAt >= oldest && bytes <= retention.bytes)
        bytes += await sizeOf(runFolder(folder, runId).path);
      if (stoppedAt < oldest || bytes > retention.bytes) old.push(runId);
    }
    if (old.length > 0) await writer.write((tx) => markFilesRemoved(tx, old, now));
    removed += old.length;
    last = page.at(-1);
    // Lets requests through: the first sweep of a long history takes a while.
    await setImmediate();
  } while (last !== undefined);
  for (const [at, name] of (await namesIn(runsFolder(folder))).entries()) {
    if (at % batchSize === 0) await setImmediate();
    // Anything else isn't the service's.
    if (!name.startsWith("run_") || (await keepsFiles(db, name))) continue;
    // Tried again by the next sweep, as when a program has the file open.
    await rm(runFolder(folder, name).path, { recursive: true, force: true }).catch((error: unknown) =>
      log("error", "files of a run not removed", { runId: name, error }),
    );
  }
  return removed;
}

/** The bytes of a folder with all that is in it; 0 for a missing one. */
async function sizeOf(folder: string): Promise<number> {
  const sizes = (await namesIn(folder, true)).map(async (name) => {
    const entry = await stat(join(folder, name)).catch(() => undefined);
    return entry?.isFile() === true ? entry.size : 0;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

async function namesIn(folder: string, recursive = false): Promise<string[]> {
  return (await ifThere(readdir(folder, { recursive }))) ?? [];
}

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
      const from = new Date(after.believed).toISOString();
      const what =
        "the clock has leapt ahead: until it has said so for a day, no files of runs are removed for it";
      this.#deps.log("warn", what, { from });
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
    try {
      await replaceFile(clockFile(this.#deps.folder), `${JSON.stringify(stored)}\n`, 0o600);
    } catch (error) {
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
