import fc from "fast-check";
import { damages } from "./damages.ts";

const which = fc.nat(1000);
const hour = 3_600_000;

/** A fault of a service, its disk, clock or files. */
export const storageAct = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      act: fc.constant("start" as const),
      org: fc.nat(1),
      pipeline: fc.constantFrom("quick", "loud", "long", "short"),
      wait: fc.constantFrom(0, 2, 120),
      times: fc.constantFrom(1, 1, 3, 8),
    }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("again" as const), which }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant("cancel" as const), which }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("read log" as const), which }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("revoke key" as const), org: fc.nat(1) }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant("fill disk" as const) }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("free disk" as const) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("close folder" as const) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("open folder" as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constant("set clock" as const),
      // By so much, or to just before 00:00 UTC.
      by: fc.constantFrom(
        "midnight" as const,
        hour,
        -hour,
        26 * hour,
        -26 * hour,
        40 * 24 * hour,
        -40 * 24 * hour,
        5_000,
      ),
    }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("kill service" as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constant("damage" as const),
      damage: fc.constantFrom(...damages.map(({ name }) => name)),
      // The position in the file, in thousandths.
      place: fc.nat(999),
    }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("back up" as const) }) },
  // As SQLite does by itself after many changes: what is damaged afterwards may be half in the database already.
  { weight: 2, arbitrary: fc.record({ act: fc.constant("checkpoint" as const) }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant("pause" as const), milliseconds: fc.nat(600) }) },
);

export type StorageAct = typeof storageAct extends fc.Arbitrary<infer T> ? T : never;
