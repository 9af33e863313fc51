import { randomFillSync } from "node:crypto";
import { decodeTime, isValid, monotonicFactory } from "ulid";
import type { Database } from "./tables.ts";

/** Makes ids that sort by the time they were made, also within one millisecond. */
export type MakeId = (kind: "run" | "key" | "org" | "ticket") => string;

/** @param after the time of an id (`newestIdTime`) that all of these sort behind, whatever the clock says. */
export function idMaker(now: () => number, after = 0): MakeId {
  const next = monotonicFactory(randomNumbers());
  return (kind) => `${kind}_${next(Math.max(now(), after + 1)).toLowerCase()}`;
}

/** Numbers from 0 to 1 for the letters of ids, of a byte each. The system is asked for many of them at a time. */
function randomNumbers(): () => number {
  const bytes = new Uint8Array(512);
  let used = bytes.length;
  return () => {
    if (used === bytes.length) {
      randomFillSync(bytes);
      used = 0;
    }
    return (bytes[used++] ?? 0) / 256;
  };
}

/**
 * The time within the newest id that the database holds. A clock that was set back while no service ran must not make
 * a run that sorts before those that are there.
 */
export async function newestIdTime(db: Database): Promise<number> {
  const { newest } = await db
    .selectFrom("runs")
    .select(({ fn }) => fn.max("id").as("newest"))
    .executeTakeFirstOrThrow();
  const ulid = newest?.slice("run_".length).toUpperCase() ?? "";
  return isValid(ulid) ? decodeTime(ulid) : 0;
}
