import fc from "fast-check";

/** `which` and `server` pick one of those that there are. */
const which = fc.nat({ max: 1000 });

/** One thing that happens to the servers, the runners, their database, or the starts of their orgs. */
export const act = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      act: fc.constant("start" as const),
      org: which,
      server: which,
      wait: fc.constantFrom(0, 5, 30),
      times: fc.integer({ min: 1, max: 4 }),
      seconds: fc.constantFrom(0.05, 0.3, 1),
    }),
  },
  { weight: 3, arbitrary: fc.record({ act: fc.constant("cancel" as const), which, server: which }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("leave" as const), which }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("kill server" as const), which }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("upgrade server" as const), which }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("kill runner" as const), which }) },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant("suspend" as const),
      what: fc.constantFrom("server" as const, "runner" as const),
      which,
      seconds: fc.constantFrom(0.5, 3, 12),
    }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("restart database" as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({ act: fc.constant("pause" as const), seconds: fc.constantFrom(0.1, 0.5, 2) }),
  },
);

export type MachineAct = typeof act extends fc.Arbitrary<infer Act> ? Act : never;
