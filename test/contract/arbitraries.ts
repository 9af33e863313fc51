import * as fc from "fast-check";
import type { Org } from "../../src/contract/org.ts";
import type { PipelineList } from "../../src/contract/pipelines.ts";
import type { Run, RunStep, StartRequest } from "../../src/contract/run.ts";

const plain = { noNullPrototype: true } as const;
const text = fc.string({ unit: "binary" });
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

const named = fc.string({ minLength: 1, maxLength: 40 });

export const startRequests: fc.Arbitrary<StartRequest> = fc.record(
  { pipeline: named, project: named, timeLimitSeconds: fc.integer({ min: 1, max: 3600 }) },
  { requiredKeys: ["pipeline"], noNullPrototype: true },
);

export const pipelineLists: fc.Arbitrary<PipelineList> = fc.record(
  {
    pipelines: fc.array(
      fc.record(
        {
          name: text,
          project: text,
          path: text,
          resourceTypes: fc.array(text, { maxLength: 3 }),
          problem: text,
        },
        { requiredKeys: ["name", "project", "path", "resourceTypes"], noNullPrototype: true },
      ),
      { maxLength: 4 },
    ),
  },
  plain,
);
