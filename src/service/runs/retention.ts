import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { PipelineError } from "../../contract/errors.ts";
import { dayMilliseconds, retentionDays } from "../../contract/limits.ts";
import { repeat } from "../../machine/clock.ts";
import { ifThere } from "../../project/systemErrors.ts";
import { type EndedRun, endedRunsWithFiles, keepsFiles, markFilesRemoved } from "../store/runFiles.ts";
import type { StoreDeps } from "../store/storeDeps.ts";
import { runFolder, runsFolder } from "./runLogs.ts";

/** How long the logs and artifacts of ended runs are kept. The runs themselves stay for good. */
export interface Retention {
  readonly days: number;
  /** For all runs together; the oldest files go first. */
  readonly bytes: number;
}

export const defaultRetention: Retention = { days: retentionDays.byDefault, bytes: 2 * 1024 ** 3 };

/**
 * The days that `PIPELINE_RETENTION_DAYS` names; undefined where it names none.
 * @throws PipelineError `usage` for anything but a whole number in the allowed range.
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
export function sweepHourly(deps: SweepDeps & Pick<StoreDeps, "clock">): () => Promise<void> {
  const { clock, log } = deps;
  const { stop } = repeat(clock, sweepMilliseconds, async () => {
    try {
      const count = await sweepRuns(deps, clock.now());
      if (count > 0) log("info", "files of runs removed", { runs: count });
    } catch (error) {
      log("error", "files of runs not removed", { error });
    }
  });
  return stop;
}

interface SweepDeps extends Pick<StoreDeps, "db" | "writer" | "log"> {
  readonly folder: string;
  readonly retention: Retention;
}

/** The runs of one transaction, so that other requests don't wait for long. */
const batchSize = 100;

/**
 * Removes the files of runs that ended too long ago, then of the oldest until the rest fits, then folders without a run.
 * The database is updated first, so that a service that dies in between goes on the next time.
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
    // Any other name isn't the service's.
    if (!name.startsWith("run_") || (await keepsFiles(db, name))) continue;
    // The next sweep tries again, as when a program has a file open.
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
