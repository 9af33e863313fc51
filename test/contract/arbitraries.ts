import * as fc from "fast-check";
import type { Org } from "../../src/contract/org.ts";
import type { Run, RunStep } from "../../src/contract/run.ts";

export const plain = { noNullPrototype: true } as const;
export const text = fc.string({ unit: "binary" });
const count = fc.nat();
const instant = fc
  .date({ noInvalidDate: true, min: new Date(0), max: new Date("9999-12-31") })
  .map((date) => date.toISOString());

export const orgs: fc.Arbitrary<Org> = fc.record(
  {
    orgId: text,
    orgName: text,
    tier: text,
    limits: fc.record({ parallelRuns: count, runsPerDay: count }, plain),
    usage: fc.record({ runsToday: count }, plain),
    actor: text,
  },
  plain,
);

const steps: fc.Arbitrary<RunStep> = fc.record(
  { name: text, type: text, status: text, startedAt: instant, stoppedAt: instant, message: text },
  { requiredKeys: ["name", "type", "status"], noNullPrototype: true },
);

export const runs: fc.Arbitrary<Run> = fc.record(
  {
    runId: text,
    pipeline: text,
    project: text,
    status: text,
    actor: text,
    runner: text,
    createdAt: instant,
    stoppedAt: instant,
    timeLimitSeconds: fc.integer({ min: 1 }),
    reason: text,
    steps: fc.array(steps, { maxLength: 4 }),
  },
  {
    requiredKeys: [
      "runId",
      "pipeline",
      "project",
      "status",
      "actor",
      "runner",
      "createdAt",
      "timeLimitSeconds",
    ],
    noNullPrototype: true,
  },
);
