import type { ReportedRun, StepLog } from "../../../src/cli/report/reportedRuns.ts";
import type { LogLine } from "../../../src/contract/log.ts";
import type { Run } from "../../../src/contract/run.ts";

const second = (count: number): string =>
  new Date(Date.UTC(2026, 2, 4, 12, 0, 0) + count * 1000).toISOString();

/** A run of a pipeline `shop` that failed in its second step, as a report takes it, with what is given instead. */
export function reported(run: Partial<Run> = {}, more: Partial<ReportedRun> = {}): ReportedRun {
  const message = "exited with 7, expected 0:\nthe disk is on fire";
  return {
    pipeline: run.pipeline ?? "shop",
    problem: `check: ${message}`,
    logs: new Map(),
    run: {
      runId: "run_1",
      pipeline: "shop",
      project: "p",
      runner: "ci-7",
      actor: "key_1",
      status: "failed",
      createdAt: second(0),
      stoppedAt: second(4),
      timeLimitSeconds: 30,
      reason: `check: ${message}`,
      steps: [
        {
          name: "build",
          type: "cli",
          status: "succeeded",
          startedAt: second(0),
          stoppedAt: second(1.5),
          attempts: 2,
        },
        {
          name: "check",
          type: "cli",
          status: "failed",
          startedAt: second(1.5),
          stoppedAt: second(4),
          message,
        },
        { name: "late", type: "http", status: "not-reached" },
      ],
      ...run,
    },
    ...more,
  };
}

/** A step's log of these texts, a line each. */
export function logOf(texts: readonly string[], stream = "stdout", leftOut = 0): StepLog {
  const lines = texts.map(
    (text, index): LogLine => ({
      id: `${index}`,
      ...{ stepIndex: 0, stream, at: second(1), text },
    }),
  );
  return { lines, leftOut };
}
