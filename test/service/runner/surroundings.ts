import { endLeftovers } from "../../../src/service/runner/endLeftovers.ts";
import { Mask } from "../../../src/service/runner/mask.ts";
import { processTable } from "../../../src/service/runner/processes/processTable.ts";
import { Shared } from "../../../src/service/runner/shared.ts";
import { stepEnvironment } from "../../../src/service/runner/stepEnvironment.ts";
import type { NewArtifact, StepSurroundings } from "../../../src/service/runner/stepOutcome.ts";
import { newRunId, runnerPath } from "./launchTestRun.ts";

/** What a step runs with when a test runs it in its own process; `end` ends what the step left running or open. */
export interface TestSurroundings {
  readonly around: StepSurroundings;
  readonly end: () => Promise<void>;
  /** What the step's log and its artifacts hold so far; a note's line begins with `# `. */
  readonly logged: () => string;
  readonly kept: readonly NewArtifact[];
}

export function surroundings(root: string, changes: Partial<StepSurroundings> = {}): TestSurroundings {
  const runId = newRunId();
  const kept: NewArtifact[] = [];
  const shared = new Shared();
  let log = "";
  return {
    kept,
    logged: () => log,
    around: {
      root,
      environment: stepEnvironment(process.env, runId),
      platform: process.platform,
      program: { execPath: process.execPath, path: runnerPath },
      mask: new Mask([]),
      log: {
        write: (_stream, text) => {
          log += text;
        },
        note: (line) => {
          log += `# ${line}\n`;
        },
      },
      keep: async (artifact) => void kept.push(artifact),
      shared,
      signal: new AbortController().signal,
      onSpawned: () => {},
      ...changes,
    },
    end: async () => {
      await shared[Symbol.asyncDispose]();
      await endLeftovers(
        { runId, runner: undefined },
        { processes: processTable(process.platform), graceMilliseconds: 0 },
      );
    },
  };
}
