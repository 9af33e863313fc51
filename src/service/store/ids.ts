import { randomFillSync } from "node:crypto";
import { decodeTime, isValid, monotonicFactory } from "ulid";
import type { Database } from "./tables.ts";

/** Makes ids that sort by time, also within one millisecond. */
export type MakeId = (kind: "run" | "key" | "org" | "ticket") => string;

/** @param after the time of an id (`newestIdTime`) after which all of these sort, whatever the clock says. */
export function idMaker(now: () => number, after = 0): MakeId {
  const next = monotonicFactory(randomNumbers());
  return (kind) => `${kind}_${next(Math.max(now(), after + 1)).toLowerCase()}`;
}

/** Random numbers from 0 to 1, of a byte each. Random bytes are fetched in bulk. */
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

/** The time of the newest id: a clock that was set back must not make a run that sorts before it. */
export async function newestIdTime(db: Database): Promise<number> {
  const { newest } = await db
    .selectFrom("runs")
    .select(({ fn }) => fn.max("id").as("newest"))
    .executeTakeFirstOrThrow();
  const ulid = newest?.slice("run_".length).toUpperCase() ?? "";
  return isValid(ulid) ? decodeTime(ulid) : 0;
}
