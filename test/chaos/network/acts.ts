import fc from "fast-check";
import type { LineFault } from "../badLine.ts";

const which = fc.nat(1000);
/** Roughly the size of a request, of an answer, or of several. */
const bytes = fc.oneof(fc.nat(40), fc.nat(600), fc.nat(4000));

const lineFault: fc.Arbitrary<LineFault> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ kind: "none" as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: "refuse" as const }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("delay" as const), milliseconds: fc.nat(800) }) },
  { weight: 1, arbitrary: fc.constant({ kind: "dribble" as const }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("cut request" as const), bytes }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("cut reply" as const), bytes }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("swallow request" as const), bytes }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("swallow reply" as const), bytes }) },
  { weight: 2, arbitrary: fc.constant({ kind: "twice" as const }) },
);

/** The faults of the next connections. */
const line = fc.array(lineFault, { maxLength: 5 });

/** A request over the bad line, or a change of the line. */
export const act = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      act: fc.constant("start" as const),
      org: fc.nat(1),
      pipeline: fc.constantFrom("quick" as const, "talking" as const, "long" as const),
      patienceSeconds: fc.constantFrom(0, 20, 60),
      leavesAfter: fc.option(fc.nat(3000), { nil: undefined, freq: 4 }),
      line,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      act: fc.constant("tool" as const),
      org: fc.nat(1),
      call: fc.constantFrom(
        "run" as const,
        "run --detach" as const,
        "cancel --mine" as const,
        "list" as const,
      ),
      line,
    }),
  },
  { weight: 3, arbitrary: fc.record({ act: fc.constant("cancel" as const), which, line }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("cancel mine" as const), org: fc.nat(1), line }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("cut" as const), line }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("outage" as const), milliseconds: fc.nat(1500) }) },
  {
    weight: 1,
    arbitrary: fc.record({ act: fc.constant("kill service" as const), after: fc.nat(500) }),
  },
  { weight: 4, arbitrary: fc.record({ act: fc.constant("pause" as const), milliseconds: fc.nat(700) }) },
);

export type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;
