import fc from "fast-check";

const which = fc.nat(1000);

/** The tool's commands that are called. */
const toolCalls = ["run", "run long", "run --detach", "cancel", "cancel --mine", "list", "org"] as const;

/** One thing that happens to the service, its runners and its callers. Numbers are indexes into what exists at that moment. */
export const act = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      act: fc.constant("start" as const),
      org: fc.nat(1),
      pipeline: fc.constantFrom("quick", "quick", "long", "long", "talking", "stubborn"),
      wait: fc.constantFrom(0, 2, 120),
      times: fc.constantFrom(1, 1, 1, 4),
    }),
  },
  { weight: 3, arbitrary: fc.record({ act: fc.constant("start again" as const), which }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant("cancel" as const), which }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("leave" as const), which }) },
  {
    weight: 5,
    arbitrary: fc.record({ act: fc.constant("tool" as const), call: fc.constantFrom(...toolCalls), which }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant("signal tool" as const),
      which,
      signal: fc.constantFrom("SIGINT" as const, "SIGTERM" as const, "SIGKILL" as const, "SIGKILL" as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("kill service" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ act: fc.constant("stop service" as const), times: fc.constantFrom(1, 1, 2) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constant("start service" as const),
      // An older one is asked to leave by the tools.
      version: fc.constantFrom(undefined, undefined, "0.0.1"),
      killAfter: fc.option(fc.nat(900), { nil: undefined, freq: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("kill runner" as const), which }) },
  {
    weight: 1,
    arbitrary: fc.record({
      act: fc.constant("freeze" as const),
      what: fc.constantFrom("service" as const, "runner" as const),
      which,
      milliseconds: fc.nat(1500),
    }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("revoke" as const) }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("read log" as const), which }) },
  // Sometimes long enough for something to happen: the invariants hold at any moment.
  { weight: 3, arbitrary: fc.record({ act: fc.constant("pause" as const), milliseconds: fc.nat(500) }) },
);

export type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;
