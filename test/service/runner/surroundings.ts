import { endLeftovers } from "../../../src/service/runner/endLeftovers.ts";
import { Mask } from "../../../src/service/runner/mask.ts";
import { processTable } from "../../../src/service/runner/processes/processTable.ts";
import { stepEnvironment } from "../../../src/service/runner/stepEnvironment.ts";
import type { StepSurroundings } from "../../../src/service/runner/stepOutcome.ts";
import { newRunId } from "./launchTestRun.ts";

/** What a step runs with when a test runs it in its own process; `end` ends what the step left running. */
export interface TestSurroundings {
  readonly around: StepSurroundings;
  readonly end: () => Promise<void>;
}

export function surroundings(root: string, changes: Partial<StepSurroundings> = {}): TestSurroundings {
  const runId = newRunId();
  return {
    around: {
      root,
      environment: stepEnvironment(process.env, runId),
      platform: process.platform,
      mask: new Mask([]),
      signal: new AbortController().signal,
      onSpawned: () => {},
      ...changes,
    },
    end: () =>
      endLeftovers(
        { runId, runnerPid: undefined },
        { processes: processTable(process.platform), graceMilliseconds: 0 },
      ),
  };
}
