import fc from "fast-check";

/** `which` and `server` are indexes, taken modulo the number of programs. */
const which = fc.nat({ max: 1000 });
const program = fc.constantFrom("server" as const, "runner" as const);

/** One thing that happens to the servers, the runners, their database, the lines between them, or the starts of their orgs. */
export const act = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      act: fc.constant("start" as const),
      // Some orgs start so many runs that starts wait for each other and use up the day.
      org: fc.oneof({ weight: 3, arbitrary: fc.nat({ max: 3 }) }, { weight: 2, arbitrary: which }),
      server: which,
      wait: fc.constantFrom(0, 5, 30),
      times: fc.integer({ min: 1, max: 6 }),
      seconds: fc.constantFrom(0.05, 0.3, 1),
    }),
  },
  { weight: 3, arbitrary: fc.record({ act: fc.constant("cancel" as const), which, server: which }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("leave" as const), which }) },
  { weight: 4, arbitrary: fc.record({ act: fc.constant("kill" as const), what: program, which }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("upgrade all" as const), what: program }) },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant("suspend" as const),
      what: program,
      which,
      seconds: fc.constantFrom(0.5, 25, 3, 12),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constant("break line" as const),
      of: fc.constantFrom("runner" as const, "clients" as const, "database" as const),
      which,
      how: fc.constantFrom("cut" as const, "silent" as const),
      seconds: fc.constantFrom(0, 25, 3, 12),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      act: fc.constant("set clock" as const),
      what: program,
      which,
      hours: fc.integer({ min: -30, max: 30 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("restart database" as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({ act: fc.constant("pause" as const), seconds: fc.constantFrom(0.1, 0.5, 2) }),
  },
);

export type MachineAct = typeof act extends fc.Arbitrary<infer Act> ? Act : never;
