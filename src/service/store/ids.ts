import { randomInt } from "node:crypto";
import { decodeTime, isValid, monotonicFactory } from "ulid";
import type { Database } from "./tables.ts";

/** Makes ids that sort by time, also within one millisecond. */
export type MakeId = (kind: "run" | "key" | "org" | "ticket") => string;

/** @param after the time of an id (`newestIdTime`) after which all of these sort, whatever the clock says. */
export function idMaker(now: () => number, after = 0): MakeId {
  const next = monotonicFactory(() => randomInt(256) / 256);
  return (kind) => `${kind}_${next(Math.max(now(), after + 1)).toLowerCase()}`;
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
