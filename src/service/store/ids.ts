import { monotonicFactory } from "ulid";

/** Makes ids that sort by the time they were made, also within one millisecond. */
export type MakeId = (kind: "run" | "key" | "org") => string;

export function idMaker(now: () => number): MakeId {
  const next = monotonicFactory();
  return (kind) => `${kind}_${next(now()).toLowerCase()}`;
}
